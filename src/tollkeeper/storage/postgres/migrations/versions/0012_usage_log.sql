-- The usage log over time: found by every filter, added up by day, cleaned by day.
--
-- Rules of this schema
-- 1. A call belongs to the day (UTC) of its request id. A row of the log is written once, by the settlement of an open
--    hold, and never changes.
-- 2. So a day is closed when it has been over for an hour and none of its holds is open: nothing can be added to it.
-- 3. Likewise everything below the oldest open hold, and older than some minutes, is final. `usage_day` has the sums of
--    what is below the horizon; what is not is read from the log itself.
-- 4. A day leaves the log whole, with what was added up of it. Holds, entries and top-ups are not touched.

create index usage_by_key on usage (key_id, request_id);
create index usage_by_price on usage (price_id, request_id);
-- Failures are few and are looked for: the others are not in these.
create index usage_by_failure on usage (ending, request_id) where ending <> 'completed';
create index usage_by_account_failure on usage (account_id, ending, request_id) where ending <> 'completed';

-- Days ------------------------------------------------------------------------------------------------------------------
create function usage_day_of(id uuid) returns date
language sql immutable strict parallel safe
return (to_timestamp(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000.0) at time zone 'UTC')::date;

-- The days that the log has a table for, or rows of in the default partition.
create function usage_days() returns setof date
language sql stable security definer set search_path = tollkeeper, pg_temp set timezone = 'UTC'
as $$
    with recursive other (day) as (
        (select usage_day_of(request_id) from usage_other order by request_id limit 1)
        union all
        select (select usage_day_of(u.request_id) from usage_other u where u.request_id >= uuid_floor(other.day + 1)
                order by u.request_id limit 1)
        from other where other.day is not null)
    select to_date(right(c.relname, 8), 'YYYYMMDD')
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'usage'::regclass and c.relname ~ '^usage_[0-9]{8}$'
    union
    select day from other where day is not null
$$;

create function usage_day_is_closed(p_day date) returns boolean
language sql stable security definer set search_path = tollkeeper, pg_temp set timezone = 'UTC'
as $$
    select ledger_now() >= (p_day + 1) + interval '1 hour' and not exists (
        select from hold where closed_at is null
            and request_id >= uuid_floor(p_day) and request_id < uuid_floor(p_day + 1))
$$;

-- What was added up -----------------------------------------------------------------------------------------------------
-- Account 0, with key 0, is the whole house.
create table usage_day (
    account_id    bigint not null,
    day           date not null,
    key_id        bigint not null,
    model_id      text not null,
    ending        text not null,
    calls         bigint not null,
    input_tokens  bigint not null,
    cached_tokens bigint not null,
    output_tokens bigint not null,
    charged       numeric(30, 0) not null,
    primary key (account_id, day, key_id, model_id, ending)
);
create index usage_day_by_day on usage_day (day, account_id);

-- One row: every call with a smaller request id is in usage_day.
create table usage_horizon (id uuid not null);
create unique index usage_horizon_is_one on usage_horizon ((true));
insert into usage_horizon values ('00000000-0000-0000-0000-000000000000');

-- Add up what became final, about `p_rows` rows of it, and move the horizon, both or neither. Whether there is more.
create function add_up_usage(p_rows integer) returns boolean
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
               sum(u.input_tokens) as input_tokens, sum(u.cached_tokens) as cached_tokens,
               sum(u.output_tokens) as output_tokens, sum(u.charged) as charged
        from usage u join price p on p.id = u.price_id
        where u.request_id >= horizon and u.request_id < step_end
        group by 1, 2, 3, 4, 5)
    insert into usage_day as d
    select * from fresh
    union all
    select 0, day, 0, model_id, ending, sum(calls), sum(input_tokens), sum(cached_tokens), sum(output_tokens),
           sum(charged)
    from fresh group by day, model_id, ending
    on conflict (account_id, day, key_id, model_id, ending) do update
    set calls = d.calls + excluded.calls, input_tokens = d.input_tokens + excluded.input_tokens,
        cached_tokens = d.cached_tokens + excluded.cached_tokens,
        output_tokens = d.output_tokens + excluded.output_tokens, charged = d.charged + excluded.charged;
    update usage_horizon set id = step_end;
    return step_end < final;
end $$;

-- A clock may have been wrong by more than minutes. So each day is added up once more from nothing, a day after its end.
create table usage_recounted (
    day date primary key,
    at  timestamptz not null
);

create function usage_days_to_recount() returns setof date
language sql stable security definer set search_path = tollkeeper, pg_temp set timezone = 'UTC'
as $$
    select d.day from usage_days() d (day)
    where ledger_now() >= (d.day + 1) + interval '24 hours'
      and not exists (select from usage_recounted r where r.day = d.day)
      and uuid_floor(d.day + 1) <= (select id from usage_horizon) and usage_day_is_closed(d.day)
    order by 1
$$;

-- The accounts behind `p_after`, whole accounts until there were about `p_rows` rows. The last account done, or null when
-- the day is complete. Two workers at the same day take turns, and write the same.
create function recount_usage_day(p_day date, p_after bigint, p_rows integer) returns bigint
language plpgsql security definer set search_path = tollkeeper, pg_temp set timezone = 'UTC'
as $$
declare
    first_id uuid := uuid_floor(p_day);
    end_id uuid := uuid_floor(p_day + 1);
    last_account bigint;
begin
    perform pg_advisory_xact_lock(hashtext('tollkeeper.usage_day'), p_day - date '2000-01-01');
    if not usage_day_is_closed(p_day) or end_id > (select id from usage_horizon) then
        raise exception 'the calls of % are not all settled and added up yet', p_day
            using errcode = 'object_not_in_prerequisite_state';
    end if;
    last_account := (select account_id from usage
                     where request_id >= first_id and request_id < end_id and account_id > p_after
                     order by account_id offset p_rows limit 1);
    delete from usage_day d
    where d.day = p_day and d.account_id > p_after and d.account_id <= coalesce(last_account, d.account_id);
    insert into usage_day
    select u.account_id, p_day, u.key_id, p.model_id, u.ending, count(*), sum(u.input_tokens), sum(u.cached_tokens),
           sum(u.output_tokens), sum(u.charged)
    from usage u join price p on p.id = u.price_id
    where u.request_id >= first_id and u.request_id < end_id
      and u.account_id > p_after and u.account_id <= coalesce(last_account, u.account_id)
    group by u.account_id, u.key_id, p.model_id, u.ending;
    if last_account is not null then
        return last_account;
    end if;
    delete from usage_day where account_id = 0 and day = p_day;
    insert into usage_day
    select 0, p_day, 0, model_id, ending, sum(calls), sum(input_tokens), sum(cached_tokens), sum(output_tokens),
           sum(charged)
    from usage_day where day = p_day and account_id > 0 group by model_id, ending;
    insert into usage_recounted values (p_day, ledger_now()) on conflict (day) do update set at = excluded.at;
    return null;
end $$;

-- Cleaning --------------------------------------------------------------------------------------------------------------
-- By which copy a day left the log last. What the log has of such a day came later, and is in no copy.
create table usage_dropped (
    day  date primary key,
    copy text not null
);

-- Dropping a day needs the log to itself for a moment, so that comes last. It gives up soon where a long reader is in the
-- way: the settlements that would queue behind it matter more.
create function drop_usage_day(p_day date, p_rows bigint, p_copy text) returns void
language plpgsql security definer
set search_path = tollkeeper, pg_temp set timezone = 'UTC' set lock_timeout = '200ms'
as $$
declare
    first_id uuid := uuid_floor(p_day);
    end_id uuid := uuid_floor(p_day + 1);
    name text := 'usage' || to_char(p_day, '_YYYYMMDD');
    found_rows bigint;
begin
    perform pg_advisory_xact_lock(hashtext('tollkeeper.usage_day'), p_day - date '2000-01-01');
    if not usage_day_is_closed(p_day) then
        raise exception 'the calls of % are not all settled yet', p_day using errcode = 'object_not_in_prerequisite_state';
    end if;
    -- From here until the drop nobody adds to it.
    if to_regclass('tollkeeper.' || name) is not null then
        execute format('lock table %I in share mode', name);
    end if;
    select count(*) into found_rows from usage where request_id >= first_id and request_id < end_id;
    if found_rows <> p_rows then
        raise exception '% rows of % were copied, and there are %', p_rows, p_day, found_rows
            using errcode = 'object_not_in_prerequisite_state';
    end if;
    delete from usage_other where request_id >= first_id and request_id < end_id;
    delete from usage_day where day = p_day;
    delete from usage_recounted where day = p_day;
    insert into usage_dropped values (p_day, p_copy) on conflict (day) do update set copy = excluded.copy;
    if to_regclass('tollkeeper.' || name) is not null then
        execute format('drop table %I', name);
    end if;
end $$;

-- Holds that came when their week had no table go when it would have gone: the books know holds from the oldest on.
create or replace function drop_old_holds(before timestamptz) returns integer
language plpgsql security definer
set search_path = tollkeeper, pg_temp set timezone = 'UTC' set lock_timeout = '200ms'
as $$
declare
    week regclass;
    open_still boolean;
    dropped integer := 0;
begin
    for week in
        select c.oid::regclass from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'hold'::regclass and c.relname ~ '^hold_[0-9]{8}$'
          and to_date(right(c.relname, 8), 'YYYYMMDD') + interval '7 days' <= before
    loop
        execute format('select exists (select from %s where closed_at is null)', week) into open_still;
        if not open_still then
            execute format('drop table %s', week);
            dropped := dropped + 1;
        end if;
    end loop;
    delete from hold_other where closed_at is not null and request_id < uuid_floor(date_trunc('week', before));
    return dropped;
end $$;

-- Grants ----------------------------------------------------------------------------------------------------------------
grant select on usage_day, usage_horizon to tollkeeper_console, tollkeeper_worker;
grant select on usage_dropped to tollkeeper_worker;
grant execute on function usage_days(), usage_day_is_closed(date), add_up_usage(integer), usage_days_to_recount(),
    recount_usage_day(date, bigint, integer), drop_usage_day(date, bigint, text) to tollkeeper_worker;
