create or replace function begin_job(p_name text, p_holder text) returns void
language sql security definer set search_path = tollkeeper, pg_temp
as $$
    update job set began_at = ledger_now(), ended_at = null where name = p_name and holder = p_holder
$$;
