-- Provider accounts in figures: attempts, failures, tokens, charge and cost by account, model and hour, with the times to
-- the first byte in fixed buckets, which can be added up (percentiles cannot).
create table provider_hour (
    hour         timestamptz not null,
    account      text not null,
    model_id     text not null,
    attempts     bigint not null,
    failed       bigint not null,
    delivered    bigint not null,
    input_units  numeric not null,
    output_units numeric not null,
    charged      numeric not null,
    cost         numeric not null,
    first_byte   bigint[] not null check (cardinality(first_byte) = 24),
    primary key (hour, account, model_id)
);
-- Up to which call they are added up. Where there are calls already, it begins a day ago: that much can be read at once.
create table provider_horizon (id uuid not null);
create unique index provider_horizon_is_one on provider_horizon ((true));
insert into provider_horizon
select case when exists (select from usage) then uuid_floor(date_trunc('hour', ledger_now() - interval '24 hours'))
            else '00000000-0000-0000-0000-000000000000'::uuid end;
grant select on provider_hour, provider_horizon to tollkeeper_console, tollkeeper_worker;

-- How many of these times are in each bucket of `core/pool/latency`: 0 below 25 ms, and so on by factors of the square root
-- of two; the last from 51,200 ms on.
create or replace function first_byte_counts(p_ms integer[]) returns bigint[]
language sql immutable parallel safe set search_path = tollkeeper, pg_temp
as $$
    select array_agg(coalesce(c.times, 0) order by b.bucket)
    from generate_series(0, 23) b (bucket)
    left join (select width_bucket(ms, array[25, 35, 50, 71, 100, 141, 200, 283, 400, 566, 800, 1131, 1600, 2263, 3200,
                                             4525, 6400, 9051, 12800, 18102, 25600, 36204, 51200]) as bucket,
                      count(*) as times
               from unnest(p_ms) ms where ms is not null group by 1) c using (bucket)
$$;

-- Every attempt of the calls from `p_first` on and before `p_end`, as figures count it. A refusal of what the caller sent
-- (400, 413, 422) is no failure of the account. What a call was charged belongs to the attempt that answered it, its last.
create or replace function provider_attempts(p_first uuid, p_end uuid)
returns table (request_id uuid, hour timestamptz, account text, model_id text, failed boolean, delivered boolean,
               first_byte_ms integer, input_units bigint, output_units bigint, charged bigint, cost bigint)
language sql stable set search_path = tollkeeper, pg_temp
as $$
    select u.request_id, date_trunc('hour', u.started_at, 'UTC'), a.told ->> 'account', coalesce(p.model_id, ''),
           a.told ->> 'outcome' not in
               ('completed', 'client_left', 'cut', 'time_limit', 'quota_ran_out', 'revoked', 'node_stopped',
                'owner_died')
               and coalesce(a.told ->> 'status', '') not in ('400', '413', '422'),
           is_last and u.ending <> 'refused', (a.told ->> 'first_byte_ms')::integer,
           case when is_last then u.input_units else 0 end, case when is_last then u.output_units else 0 end,
           case when is_last then u.charged else 0 end, coalesce((a.told ->> 'cost')::bigint, 0)
    from usage u
    left join price p on p.id = u.price_id
    cross join jsonb_array_elements(u.attempts) with ordinality a (told, place)
    cross join lateral (select a.place = jsonb_array_length(u.attempts) as is_last) l
    where u.request_id >= p_first and u.request_id < p_end
$$;

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
    insert into provider_hour as h
    select hour, account, model_id, count(*), count(*) filter (where failed), count(*) filter (where delivered),
           sum(input_units), sum(output_units), sum(charged), sum(cost),
           first_byte_counts(array_agg(first_byte_ms) filter (where not failed))
    from provider_attempts(horizon, step_end)
    group by hour, account, model_id
    on conflict (hour, account, model_id) do update
    set attempts = h.attempts + excluded.attempts, failed = h.failed + excluded.failed,
        delivered = h.delivered + excluded.delivered, input_units = h.input_units + excluded.input_units,
        output_units = h.output_units + excluded.output_units, charged = h.charged + excluded.charged,
        cost = h.cost + excluded.cost,
        first_byte = array(select a + b from unnest(h.first_byte, excluded.first_byte) both_of (a, b));
    update provider_horizon set id = step_end;
    delete from provider_hour where hour < ledger_now() - interval '100 days';
    return step_end < final;
end $$;

grant execute on function first_byte_counts(integer[]) to tollkeeper_console;
grant execute on function provider_attempts(uuid, uuid) to tollkeeper_console;
grant execute on function add_up_providers(integer) to tollkeeper_worker;
