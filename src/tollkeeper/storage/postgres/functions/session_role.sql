-- The role that this session works under. It is the caller's, also within functions that run with their owner's rights.
create or replace function session_role() returns text
language sql stable
return coalesce(nullif(current_setting('role'), 'none'), session_user::text);
