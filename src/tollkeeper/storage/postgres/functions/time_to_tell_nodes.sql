-- Nodes go by what they read less than two seconds ago: nothing may take effect before all of them know.
create or replace function time_to_tell_nodes() returns interval
language sql immutable
return interval '5 s';
