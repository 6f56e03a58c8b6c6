-- Add up what calls used under each price, about `p_rows` calls of it, and move the horizon of that, both or neither. Whether
-- there is more. What is older than previews look goes. Units of calls that nothing was charged for are not counted: they
-- cost nothing at any price.
create or replace function add_up_prices(p_rows integer) returns boolean
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
    perform pg_advisory_xact_lock(hashtext('tollkeeper.price_horizon'));
    horizon := (select id from price_horizon);
    if final <= horizon then
        return false;
    end if;
    step_end := coalesce((select request_id from usage where request_id >= horizon and request_id < final
                          order by request_id offset p_rows limit 1), final);
    insert into price_day as d
    select u.price_id, usage_day_of(u.request_id), u.account_id, u.group_millionths, count(*), sum(u.charged),
           count(*) filter (where c.counts), coalesce(sum(u.input_units) filter (where c.counts), 0),
           coalesce(sum(u.cached_units) filter (where c.counts), 0),
           coalesce(sum(u.output_units) filter (where c.counts), 0),
           coalesce(sum((u.parts ->> 'written_5m')::bigint) filter (where c.counts), 0),
           coalesce(sum((u.parts ->> 'written_1h')::bigint) filter (where c.counts), 0),
           coalesce(sum((u.parts ->> 'image_input')::bigint) filter (where c.counts), 0),
           coalesce(sum((u.parts ->> 'audio_input')::bigint) filter (where c.counts), 0),
           coalesce(sum((u.parts ->> 'image_output')::bigint) filter (where c.counts), 0),
           coalesce(sum((u.parts ->> 'audio_output')::bigint) filter (where c.counts), 0)
    from usage u cross join lateral (select u.usage_source <> 'none' as counts) c
    where u.request_id >= horizon and u.request_id < step_end and u.price_id is not null
    group by 1, 2, 3, 4
    on conflict (price_id, day, account_id, group_millionths) do update
    set calls = d.calls + excluded.calls, charged = d.charged + excluded.charged,
        counted = d.counted + excluded.counted, input_units = d.input_units + excluded.input_units,
        cached_units = d.cached_units + excluded.cached_units, output_units = d.output_units + excluded.output_units,
        written_5m = d.written_5m + excluded.written_5m, written_1h = d.written_1h + excluded.written_1h,
        image_input = d.image_input + excluded.image_input, audio_input = d.audio_input + excluded.audio_input,
        image_output = d.image_output + excluded.image_output, audio_output = d.audio_output + excluded.audio_output;
    update price_horizon set id = step_end;
    delete from price_day where day < (ledger_now() at time zone 'UTC')::date - 31;
    return step_end < final;
end $$;
