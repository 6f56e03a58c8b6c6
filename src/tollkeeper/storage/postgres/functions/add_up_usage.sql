-- Add up what became final, about `p_rows` rows of it, and move the horizon, both or neither. Whether there is more.
create or replace function add_up_usage(p_rows integer) returns boolean
language plpgsql security definer
set search_path = tollkeeper, pg_temp set timezone = 'UTC'
-- The log is read along its request ids, however large it is.
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
as $$
declare
    horizon uuid;
    final uuid := uuid_floor(ledger_now() - interval '10 minutes');
    step_end uuid;
begin
    perform pg_advisory_xact_lock(hashtext('tollkeeper.usage_horizon'));
    horizon := (select id from usage_horizon);
    final := least(final, (select o.request_id from (select request_id from hold where closed_at is null offset 0) o
                           order by o.request_id limit 1));
    if final <= horizon then
        return false;
    end if;
    step_end := coalesce((select request_id from usage where request_id >= horizon and request_id < final
                          order by request_id offset p_rows limit 1), final);
    with fresh as materialized (
        select u.account_id, usage_day_of(u.request_id) as day, u.key_id, p.model_id, u.ending, count(*) as calls,
               sum(u.input_units) as input_units, sum(u.cached_units) as cached_units,
               sum(u.output_units) as output_units, sum(u.charged) as charged
        from usage u join price p on p.id = u.price_id
        where u.request_id >= horizon and u.request_id < step_end
        group by 1, 2, 3, 4, 5)
    insert into usage_day as d
    select * from fresh
    union all
    select 0, day, 0, model_id, ending, sum(calls), sum(input_units), sum(cached_units), sum(output_units),
           sum(charged)
    from fresh group by day, model_id, ending
    on conflict (account_id, day, key_id, model_id, ending) do update
    set calls = d.calls + excluded.calls, input_units = d.input_units + excluded.input_units,
        cached_units = d.cached_units + excluded.cached_units,
        output_units = d.output_units + excluded.output_units, charged = d.charged + excluded.charged;
    update usage_horizon set id = step_end;
    return step_end < final;
end $$;
