-- What calls used under each price, by day and account, so that a preview of a price change need not read a month of the log.
-- Tiers and tools are not in it: they go by the single call, and a preview of a price that has some reads the log.
create table price_day (
    price_id         bigint not null,
    day              date not null,
    account_id       bigint not null,
    group_millionths bigint not null,
    calls            bigint not null,
    charged          numeric not null,
    -- Calls that something was charged for: all units below are theirs.
    counted          bigint not null,
    input_units      bigint not null,
    cached_units     bigint not null,
    output_units     bigint not null,
    written_5m       bigint not null,
    written_1h       bigint not null,
    image_input      bigint not null,
    audio_input      bigint not null,
    image_output     bigint not null,
    audio_output     bigint not null,
    primary key (price_id, day, account_id, group_millionths)
);
create index price_day_by_day on price_day (day);
-- Up to which call they are added up. Where there are calls already, it begins as far back as previews look.
create table price_horizon (id uuid not null);
create unique index price_horizon_is_one on price_horizon ((true));
insert into price_horizon
select case when exists (select from usage)
            then uuid_floor(date_trunc('day', ledger_now(), 'UTC') - interval '31 days')
            else '00000000-0000-0000-0000-000000000000'::uuid end;
grant select on price_day, price_horizon to tollkeeper_console;

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

grant execute on function add_up_prices(integer) to tollkeeper_worker;
