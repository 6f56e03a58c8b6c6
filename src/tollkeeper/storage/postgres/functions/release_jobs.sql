create or replace function release_jobs(p_holder text) returns void
language sql security definer set search_path = tollkeeper, pg_temp
as $$
    update job set held_until = '-infinity' where holder = p_holder
$$;
