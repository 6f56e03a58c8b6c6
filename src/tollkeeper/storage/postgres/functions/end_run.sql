-- A run is over. `p_judged`: it came to a verdict, good or bad, which stays on record until the next one. What could not
-- be done is soon due again; a bad verdict is looked at again within the hour, so that it is known when things are mended.
create or replace function end_run(
    p_name text, p_holder text, p_seconds double precision, p_well boolean, p_outcome text, p_judged boolean)
returns void
language sql security definer set search_path = tollkeeper, pg_temp
as $$
    update job set ended_at = ledger_now(), seconds = p_seconds, went_well = p_well, outcome = left(p_outcome, 500),
        runs = runs + 1, failures = failures + (not p_well)::integer,
        judged_at = case when p_judged then ledger_now() else judged_at end,
        judged_well = case when p_judged then p_well else judged_well end,
        due_at = case
            when p_well then coalesce(began_at, ledger_now()) + make_interval(secs => every_seconds)
            else ledger_now() + least(make_interval(secs => every_seconds),
                                      case when p_judged then interval '1 hour' else interval '5 minutes' end) end
    where name = p_name and holder = p_holder
$$;
