-- Add up what became final of the provider accounts' attempts, about `p_rows` calls of it, and move their horizon, both or
-- neither. Whether there is more. What is older than a hundred days goes.
create or replace function add_up_providers(p_rows integer) returns boolean
language plpgsql security definer set search_path = tollkeeper, pg_temp set timezone = 'UTC'
-- The log is read along its request ids, however large it is.
set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
    horizon uuid;
    -- What `add_up_usage` holds for final.
    final uuid := (select id from usage_horizon);
    step_end uuid;
begin
    perform pg_advisory_xact_lock(hashtext('tollkeeper.provider_horizon'));
    horizon := (select id from provider_horizon);
    if final <= horizon then
        return false;
    end if;
    step_end := coalesce((select request_id from usage where request_id >= horizon and request_id < final
                          order by request_id offset p_rows limit 1), final);
    with attempt as materialized (
        select * from provider_attempts(horizon, step_end)
    ), failures as (
        insert into failure_hour as k
        select coalesce(account, ''), hour, failure, count(*), count(*) filter (where was_last),
               count(*) filter (where was_last and not delivered)
        from attempt where failed group by grouping sets ((hour, account, failure), (hour, failure))
        on conflict (account, hour, failure) do update
        set times = k.times + excluded.times, for_callers = k.for_callers + excluded.for_callers,
            unanswered = k.unanswered + excluded.unanswered
    ), whole as (
        insert into service_hour as h
        select hour, count(*), count(*) filter (where failed), count(*) filter (where delivered),
               sum(input_units), sum(output_units), sum(charged), sum(cost),
               first_byte_counts(array_agg(first_byte_ms) filter (where not failed))
        from attempt group by hour
        on conflict (hour) do update
        set attempts = h.attempts + excluded.attempts, failed = h.failed + excluded.failed,
            delivered = h.delivered + excluded.delivered, input_units = h.input_units + excluded.input_units,
            output_units = h.output_units + excluded.output_units, charged = h.charged + excluded.charged,
            cost = h.cost + excluded.cost,
            first_byte = array(select a + b from unnest(h.first_byte, excluded.first_byte) both_of (a, b))
    ), days as (
        insert into provider_day as d
        select hour::date, account, model_id, count(*), count(*) filter (where failed),
               count(*) filter (where delivered), sum(input_units), sum(output_units), sum(charged), sum(cost),
               first_byte_counts(array_agg(first_byte_ms) filter (where not failed))
        from attempt group by hour::date, account, model_id
        on conflict (day, account, model_id) do update
        set attempts = d.attempts + excluded.attempts, failed = d.failed + excluded.failed,
            delivered = d.delivered + excluded.delivered, input_units = d.input_units + excluded.input_units,
            output_units = d.output_units + excluded.output_units, charged = d.charged + excluded.charged,
            cost = d.cost + excluded.cost,
            first_byte = array(select a + b from unnest(d.first_byte, excluded.first_byte) both_of (a, b))
    )
    insert into provider_hour as h
    select hour, account, model_id, count(*), count(*) filter (where failed), count(*) filter (where delivered),
           sum(input_units), sum(output_units), sum(charged), sum(cost),
           first_byte_counts(array_agg(first_byte_ms) filter (where not failed))
    from attempt
    group by hour, account, model_id
    on conflict (hour, account, model_id) do update
    set attempts = h.attempts + excluded.attempts, failed = h.failed + excluded.failed,
        delivered = h.delivered + excluded.delivered, input_units = h.input_units + excluded.input_units,
        output_units = h.output_units + excluded.output_units, charged = h.charged + excluded.charged,
        cost = h.cost + excluded.cost,
        first_byte = array(select a + b from unnest(h.first_byte, excluded.first_byte) both_of (a, b));
    update provider_horizon set id = step_end;
    delete from provider_hour where hour < ledger_now() - interval '100 days';
    delete from provider_day where day < ledger_now() - interval '100 days';
    delete from service_hour where hour < ledger_now() - interval '100 days';
    delete from failure_hour where hour < ledger_now() - interval '100 days';
    return step_end < final;
end $$;
