-- How many accounts are looked at, at most, in each direction.
create or replace function partners_looked_at() returns integer language sql immutable return 25000;
