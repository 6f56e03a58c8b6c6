-- The pool as each process of the gateway knows it: breakers that are not closed, and what its last minute took of the
-- accounts' limits. One row for each process, written anew every few seconds; what is not written any more is over.
create table pool_report (
    node    text not null,
    process integer not null,
    at      timestamptz not null default now(),
    told    jsonb not null,
    primary key (node, process)
);
grant select, insert, update, delete on pool_report to tollkeeper_gateway;
grant select on pool_report to tollkeeper_console, tollkeeper_worker;

-- Provider accounts whose breakers webhooks were told of. `ill_at`: when a process last said that it is not well.
create table provider_outage (
    provider_account_id bigint primary key references provider_account on delete cascade,
    began_at            timestamptz not null default ledger_now(),
    ill_at              timestamptz not null default ledger_now()
);
-- Events of provider accounts that no process of the gateway gives calls (`p_out`, with why in `p_because`): each once, and
-- again only after no process said ill of it (`p_ill`) for a minute, so one that comes and goes is not told of all the
-- time. Of one that is suspended or not in use nothing is told. How many events there were.
create or replace function note_outages(p_out text[], p_because text[], p_ill text[]) returns integer
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    outage record;
    told integer := 0;
begin
    perform pg_advisory_xact_lock(hashtext('tollkeeper.provider_outage'));
    update provider_outage o set ill_at = ledger_now() from provider_account a
    where a.id = o.provider_account_id and a.name = any (p_ill);
    delete from provider_outage where ill_at < ledger_now() - interval '1 minute';
    for outage in
        with fresh as (
            insert into provider_outage (provider_account_id)
            select id from provider_account where name = any (p_out) and suspended_at is null and state = 'active'
            on conflict do nothing returning provider_account_id)
        select a.id, a.name, o.because
        from fresh join provider_account a on a.id = fresh.provider_account_id
        join unnest(p_out, p_because) o (name, because) on o.name = a.name order by a.id
    loop
        perform emit_event('provider.out', jsonb_build_object(
            'provider_account', outage.id, 'name', outage.name, 'suspended_at', null, 'because', outage.because));
        told := told + 1;
    end loop;
    return told;
end $$;
grant execute on function note_outages(text[], text[], text[]) to tollkeeper_worker;

-- Failures of provider accounts by hour and kind, and of all accounts together (with an empty name); `for_callers`: those
-- after which no other attempt was made; `unanswered`: those of them whose calls had no answer at all.
create table failure_hour (
    account     text not null,
    hour        timestamptz not null,
    failure     text not null,
    times       bigint not null,
    for_callers bigint not null,
    unanswered  bigint not null,
    primary key (account, hour, failure)
);
-- What is too old is removed along it.
create index failure_hour_by_hour on failure_hour (hour);

-- What all provider accounts came to by hour: hundreds of accounts need not be added up for every look.
create table service_hour (
    hour         timestamptz not null primary key,
    attempts     bigint not null,
    failed       bigint not null,
    delivered    bigint not null,
    input_units  numeric not null,
    output_units numeric not null,
    charged      numeric not null,
    cost         numeric not null,
    first_byte   bigint[] not null check (cardinality(first_byte) = 24)
);
insert into service_hour
select hour, sum(attempts), sum(failed), sum(delivered), sum(input_units), sum(output_units), sum(charged), sum(cost),
       (select array_agg(times order by bucket)
        from (select bucket, sum(counted)::bigint as times
              from provider_hour o, unnest(o.first_byte) with ordinality each_of (counted, bucket)
              where o.hour = h.hour group by bucket) summed)
from provider_hour h group by hour;
create index provider_hour_by_account on provider_hour (account, hour);
grant select on failure_hour, service_hour to tollkeeper_console, tollkeeper_worker;

-- It says two things more of each attempt.
drop function provider_attempts(uuid, uuid);
-- Every attempt of the calls from `p_first` on and before `p_end`, as figures count it. A refusal of what the caller sent
-- (400, 413, 422) is no failure of the account, nor is a call that ended by the caller's doing, by a limit of the caller's
-- (`max_charge`) or by ours. What a call was charged belongs to the attempt that answered it, its last.
-- `failure`: what kind of failure it was; null for none. `was_last`: no other attempt made up for it.
create or replace function provider_attempts(p_first uuid, p_end uuid)
returns table (request_id uuid, hour timestamptz, account text, model_id text, failed boolean, delivered boolean,
               first_byte_ms integer, input_units bigint, output_units bigint, charged bigint, cost bigint,
               failure text, was_last boolean)
language sql stable set search_path = tollkeeper, pg_temp
as $$
    select u.request_id, date_trunc('hour', u.started_at, 'UTC'), a.told ->> 'account', coalesce(p.model_id, ''),
           f.failed, is_last and u.ending <> 'refused', (a.told ->> 'first_byte_ms')::integer,
           case when is_last then u.input_units else 0 end, case when is_last then u.output_units else 0 end,
           case when is_last then u.charged else 0 end, coalesce((a.told ->> 'cost')::bigint, 0),
           case when not f.failed then null
                when a.told ->> 'outcome' <> 'refused' then a.told ->> 'outcome'
                when a.told ->> 'status' = '429' then 'busy'
                when a.told ->> 'status' in ('401', '402') then 'key_refused'
                when a.told ->> 'status' like '5__' then 'server'
                else 'refused' end,
           is_last
    from usage u
    left join price p on p.id = u.price_id
    cross join jsonb_array_elements(u.attempts) with ordinality a (told, place)
    cross join lateral (select a.place = jsonb_array_length(u.attempts) as is_last) l
    cross join lateral (
        select a.told ->> 'outcome' not in
                   ('completed', 'client_left', 'cut', 'time_limit', 'quota_ran_out', 'max_charge', 'revoked',
                    'node_stopped', 'owner_died')
               and coalesce(a.told ->> 'status', '') not in ('400', '413', '422') as failed) f
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
    delete from service_hour where hour < ledger_now() - interval '100 days';
    delete from failure_hour where hour < ledger_now() - interval '100 days';
    return step_end < final;
end $$;

-- What is added up already, by kind: the last day as the log tells it, that much can be read at once. Of what is older only
-- the number is known, and its kind is `not_kept`.
set local enable_seqscan = off;
insert into failure_hour
select coalesce(account, ''), hour, failure, count(*), count(*) filter (where was_last),
       count(*) filter (where was_last and not delivered)
from provider_attempts(uuid_floor(date_trunc('hour', ledger_now() - interval '24 hours', 'UTC')),
                       (select id from provider_horizon))
where failed and hour >= date_trunc('hour', ledger_now() - interval '24 hours', 'UTC')
group by grouping sets ((hour, account, failure), (hour, failure));
set local enable_seqscan = on;
insert into failure_hour
select coalesce(account, ''), hour, 'not_kept', sum(failed), 0, 0
from provider_hour
where failed > 0 and hour < date_trunc('hour', ledger_now() - interval '24 hours', 'UTC')
group by grouping sets ((hour, account), (hour));

grant execute on function provider_attempts(uuid, uuid) to tollkeeper_console;
