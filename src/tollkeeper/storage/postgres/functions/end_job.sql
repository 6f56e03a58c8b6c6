create or replace function end_job(p_name text, p_holder text, p_seconds double precision, p_well boolean, p_outcome text)
returns void
language sql security definer set search_path = tollkeeper, pg_temp
as $$
    update job set ended_at = ledger_now(), seconds = p_seconds, went_well = p_well, outcome = left(p_outcome, 500),
        runs = runs + 1, failures = failures + (not p_well)::integer,
        due_at = case when p_well then coalesce(began_at, ledger_now()) + make_interval(secs => every_seconds)
                      else ledger_now() + least(make_interval(secs => every_seconds), interval '5 minutes') end
    where name = p_name and holder = p_holder
$$;
