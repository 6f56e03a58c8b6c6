-- The ledger: holds that reserve quota before anything is spent, settles that charge what was delivered, and the
-- append-only entries that say where every unit of every lot went.
--
-- Rules of this schema
-- 1. Lock order: the books of all accounts concerned, by id, in one statement. Keys, lots and holds of an account are
--    touched only under that lock, and are read in later statements (under READ COMMITTED those see what the lock
--    waited for).
-- 2. Functions take a batch as arrays, decide in arrival order, and write set-based. A request id is settled once.
-- 3. granted = remaining + open holds + charged + expired + revoked + debt_paid, for every account, at every commit.
-- 4. A lot bound to a key is drawn by that key alone, before any other, and pays nobody's debt.

-- Time as UUIDv7: rows that belong to calls are partitioned by their request id, which begins with its time. ------------
create function uuid_floor(at timestamptz) returns uuid
language sql immutable strict parallel safe
return (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '70008000000000000000')::uuid;

create function ledger_uuid() returns uuid
language sql volatile
return (left(replace(uuid_floor(ledger_now())::text, '-', ''), 13)
        || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid;

-- Workers: who owns a hold. One row for each life of a process, so its id is also its epoch. ----------------------------
create table worker (
    id           bigint generated always as identity primary key,
    node         text not null check (char_length(node) between 1 and 120),
    started_at   timestamptz not null default now(),
    heartbeat_at timestamptz not null default now(),
    fenced_at    timestamptz,
    ended_at     timestamptz
) with (fillfactor = 50);
create index worker_alive on worker (id) where ended_at is null;

alter table api_key add column daily_budget bigint check (daily_budget >= 0);
alter table api_key add column monthly_budget bigint check (monthly_budget >= 0);
grant update (daily_budget, monthly_budget) on api_key to tollkeeper_console;
-- What was held or charged by holds of the named day and of its month (UTC), for budgets. The day never goes back.
alter table key_books add column day date not null default '1970-01-01';
alter table key_books add column day_total numeric(30, 0) not null default 0 check (day_total >= 0);
alter table key_books add column month_total numeric(30, 0) not null default 0 check (month_total >= 0);

-- For the job that closes lots. Draws do not touch these columns, so they stay in-place updates.
create index lot_open_by_expiry on lot (expires_at) where closed_at is null;
alter table lot add column closed_as text check (closed_as in ('expired', 'revoked'));
alter table lot add check ((closed_as is null) = (closed_at is null));
alter table lot add check (closed_at is null or remaining = 0);

-- Holds ----------------------------------------------------------------------------------------------------------------
create table hold (
    request_id       uuid not null primary key,
    account_id       bigint not null,
    key_id           bigint not null,
    worker_id        bigint not null,
    price_id         bigint not null,
    group_millionths bigint not null check (group_millionths >= 0),
    amount           bigint not null check (amount >= 0),
    lots             bigint[] not null,
    amounts          bigint[] not null,
    input_count      bigint not null check (input_count >= 0),
    output_count     bigint not null default 0 check (output_count >= 0),
    extensions       smallint not null default 0,
    -- The day of the key's budget that this hold counts for.
    day              date not null,
    created_at       timestamptz not null,
    deadline_at      timestamptz not null,
    charged          bigint check (charged >= 0),
    closed_at        timestamptz,
    check ((charged is null) = (closed_at is null))
) partition by range (request_id);
-- Only open holds are looked for otherwise than by id, and those are few.
create index hold_open on hold (worker_id) where closed_at is null;

-- Entries: where the quota of lots went. `cause` is the call's request id, or an id of the act's own. -------------------
create table entry (
    cause      uuid not null,
    kind       text not null check (kind in
                   ('charged', 'overrun', 'debt', 'expired', 'revoked', 'clawed', 'debt_paid')),
    lot_id     bigint not null,
    account_id bigint not null,
    key_id     bigint,
    amount     bigint not null check (amount > 0),
    at         timestamptz not null,
    primary key (cause, kind, lot_id),
    -- What is owed came from no lot.
    check ((kind in ('debt', 'clawed')) = (lot_id = 0))
) partition by range (cause);
create index entry_by_account on entry (account_id, cause);

-- The usage log: one receipt for each call. ----------------------------------------------------------------------------
create table usage (
    request_id          uuid not null primary key,
    account_id          bigint not null,
    key_id              bigint not null,
    price_id            bigint not null,
    group_millionths    bigint not null,
    input_tokens        bigint not null check (input_tokens >= 0),
    cached_tokens       bigint not null check (cached_tokens between 0 and input_tokens),
    output_tokens       bigint not null check (output_tokens >= 0),
    held                bigint not null check (held >= 0),
    charged             bigint not null check (charged >= 0),
    usage_source        text not null,
    ending              text not null,
    attempts            jsonb not null,
    started_at          timestamptz not null,
    settled_at          timestamptz not null
) partition by range (request_id);
create index usage_by_account on usage (account_id, request_id);

-- Partitions: holds by week, entries by month, usage by day; what falls outside has a home too. ------------------------
create table hold_other partition of hold default;
create table entry_other partition of entry default;
create table usage_other partition of usage default;

-- Making one needs the table to itself for a moment. It gives up soon where a long reader is in the way: calls that
-- would queue behind it matter more, and there is a week's time to try again.
create function make_partition(parent text, since timestamptz, until timestamptz) returns void
language plpgsql security definer
set search_path = tollkeeper, pg_temp set timezone = 'UTC' set lock_timeout = '200ms'
as $$
declare
    name text := parent || to_char(since, '_YYYYMMDD');
begin
    if parent not in ('hold', 'entry', 'usage') or to_regclass('tollkeeper.' || name) is not null then
        return;
    end if;
    execute format('create table %I partition of %I for values from (%L) to (%L)',
                   name, parent, uuid_floor(since), uuid_floor(until));
    if parent = 'hold' then
        execute format('alter table %I set (fillfactor = 70)', name);
    end if;
exception when check_violation then
    -- The default partition has rows of that time already, and goes on taking them.
    raise warning 'partition % was not made: the default partition of % has rows of its time', name, parent;
end $$;

-- The partitions of the days ahead that are not there yet. The worker makes them, each in a transaction of its own.
create function missing_partitions(at timestamptz)
returns table (parent text, since timestamptz, until timestamptz)
language sql stable security definer set search_path = tollkeeper, pg_temp set timezone = 'UTC'
as $$
    select distinct p.parent, p.since, p.until
    from generate_series(date_trunc('day', at) - interval '1 day', at + interval '7 days', '1 day') day,
    lateral (values
        ('usage', day, day + interval '1 day'),
        ('hold', date_trunc('week', day), date_trunc('week', day) + interval '7 days'),
        ('entry', date_trunc('month', day), date_trunc('month', day) + interval '1 month')) p (parent, since, until)
    where to_regclass('tollkeeper.' || p.parent || to_char(p.since, '_YYYYMMDD')) is null
    order by 1, 2
$$;
select make_partition(parent, since, until) from missing_partitions(ledger_now());

-- Holds that are closed have done their work: their calls are in `usage`, their charges in `entry`. A week of them is
-- dropped whole once it is old enough and none in it is open.
create function drop_old_holds(before timestamptz) returns integer
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
    return dropped;
end $$;

-- hold_batch: reserve quota, or extend reservations ----------------------------------------------------------------------
-- sequence 0 asks for a new hold, n > 0 for the n-th extension of one. Verdicts: admitted, replayed, closed, unknown_key,
-- unknown_hold, debt, account_short, key_short, budget. `available` is what there was of the quota that was short, or
-- the debt. Requests are judged one after the other in the order of the arrays: a large one that does not fit never
-- refuses a small one behind it.
create function hold_batch(
    p_worker bigint, p_request uuid[], p_sequence smallint[], p_account bigint[], p_key bigint[], p_amount bigint[],
    p_price bigint[], p_group bigint[], p_input bigint[], p_seconds integer[])
returns table (request_id uuid, verdict text, available bigint)
language plpgsql security definer
set search_path = tollkeeper, pg_temp
set plan_cache_mode = force_generic_plan
-- Batches are small and every table is reached by index, whatever the statistics of the day say.
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
    this_moment timestamptz := ledger_now();
    today date := (this_moment at time zone 'UTC')::date;
    asked record;
    pocket record;
    a int; k int; n int := 0; left_to_draw bigint; part bigint;
    -- by account of the batch
    accounts bigint[]; debt bigint[]; free_left bigint[]; free_at int[]; free_to int[]; account_held bigint[];
    -- by key of the batch
    keys bigint[]; bound_left bigint[]; bound_at int[]; bound_to int[]; key_held bigint[]; key_day bigint[]; key_month bigint[];
    key_admitted bool[];
    -- by lot
    lot_id bigint[] := '{}'; lot_left bigint[] := '{}'; lot_drawn bool[] := '{}';
    -- by draw
    d int := 0; draw_lot bigint[] := '{}'; draw_amount bigint[] := '{}';
    -- by request
    verdicts text[] := array_fill(null::text, array[cardinality(p_request)]);
    availables bigint[] := array_fill(0::bigint, array[cardinality(p_request)]);
    draw_from int[] := array_fill(1, array[cardinality(p_request)]);
    draw_to int[] := array_fill(0, array[cardinality(p_request)]);
    admitted int := 0; extended int := 0;
begin
    if not exists (select from worker where id = p_worker and fenced_at is null and ended_at is null) then
        raise exception 'the life of worker % is over', p_worker using errcode = 'TK001';
    end if;
    perform from account_books where account_id = any (p_account) order by account_id for update;

    accounts := array(select distinct unnest(p_account) order by 1);
    keys := array(select distinct unnest(p_key) order by 1);
    free_left := array_fill(0::bigint, array[cardinality(accounts)]);
    free_at := array_fill(1, array[cardinality(accounts)]);
    free_to := array_fill(0, array[cardinality(accounts)]);
    account_held := free_left;
    bound_left := array_fill(0::bigint, array[cardinality(keys)]);
    bound_at := array_fill(1, array[cardinality(keys)]);
    bound_to := array_fill(0, array[cardinality(keys)]);
    key_held := bound_left; key_day := bound_left; key_month := bound_left;
    key_admitted := array_fill(false, array[cardinality(keys)]);
    debt := array(select b.debt from unnest(accounts) with ordinality t (id, at)
                  left join account_books b on b.account_id = t.id order by t.at);

    -- Pockets: the lots that each account, and each key with bound lots, may draw, in the order of drawing.
    for pocket in
        select l.id, l.remaining, t.at as a,
               case when l.key_id is not null then array_position(keys, l.key_id) end as k
        from unnest(accounts) with ordinality t (id, at)
        join lot l on l.account_id = t.id
        where l.remaining > 0 and l.expires_at > this_moment and l.closed_at is null
          and (l.key_id is null or l.key_id = any (keys))
        order by t.at, k nulls first, l.expires_at, l.id
    loop
        n := n + 1;
        lot_id[n] := pocket.id; lot_left[n] := pocket.remaining; lot_drawn[n] := false;
        if pocket.k is null then
            if free_to[pocket.a] = 0 then free_at[pocket.a] := n; end if;
            free_to[pocket.a] := n;
            -- Bounded: more than any hold can ask for is enough.
            free_left[pocket.a] := least(free_left[pocket.a] + pocket.remaining, 4611686018427387904);
        else
            if bound_to[pocket.k] = 0 then bound_at[pocket.k] := n; end if;
            bound_to[pocket.k] := n;
            bound_left[pocket.k] := least(bound_left[pocket.k] + pocket.remaining, 2305843009213693952);
        end if;
    end loop;

    for asked in
        select r.request_id, r.sequence, r.amount, r.at, ak.id is not null as key_known,
               -- Their places in `accounts` and `keys`, which are sorted likewise.
               dense_rank() over (order by r.account_id) as a, dense_rank() over (order by r.key_id) as k,
               -- The same request may stand in a batch twice: the first decides.
               min(r.at) over (partition by r.request_id, r.sequence) as first,
               h.request_id is not null as hold_known, h.extensions, h.closed_at,
               (h.account_id, h.key_id) is distinct from (r.account_id, r.key_id) as foreign_hold,
               ak.quota - kb.used - kb.held as key_left,
               ak.daily_budget - case when kb.day >= today then kb.day_total else 0 end as day_left,
               ak.monthly_budget - case when date_trunc('month', kb.day) >= date_trunc('month', today)
                                        then kb.month_total else 0 end as month_left,
               -- An extension counts for the day of its hold.
               coalesce(h.day >= greatest(kb.day, today), true) as in_day,
               coalesce(date_trunc('month', h.day) >= date_trunc('month', greatest(kb.day, today)), true) as in_month
        from unnest(p_request, p_sequence, p_account, p_key, p_amount) with ordinality
             r (request_id, sequence, account_id, key_id, amount, at)
        left join api_key ak on ak.id = r.key_id and ak.account_id = r.account_id
        left join key_books kb on kb.key_id = ak.id
        left join hold h on h.request_id = r.request_id
        order by r.at
    loop
        a := asked.a; k := asked.k;
        if asked.first < asked.at then
            verdicts[asked.at] := case verdicts[asked.first] when 'admitted' then 'replayed' else verdicts[asked.first] end;
            availables[asked.at] := availables[asked.first];
        elsif asked.hold_known and asked.foreign_hold then
            verdicts[asked.at] := 'unknown_hold';
        elsif asked.closed_at is not null then
            verdicts[asked.at] := 'closed';
        elsif asked.hold_known and asked.sequence <= asked.extensions then
            verdicts[asked.at] := 'replayed';
        elsif (asked.sequence > 0 and not asked.hold_known) or asked.sequence > coalesce(asked.extensions, 0) + 1 then
            verdicts[asked.at] := 'unknown_hold';
        elsif not asked.key_known then
            verdicts[asked.at] := 'unknown_key';
        elsif debt[a] > 0 then
            verdicts[asked.at] := 'debt';
            availables[asked.at] := debt[a];
        elsif asked.amount > asked.key_left - key_held[k] then
            verdicts[asked.at] := 'key_short';
            availables[asked.at] := greatest(0, asked.key_left - key_held[k]);
        elsif asked.amount > least(case when asked.in_day then asked.day_left - key_day[k] end,
                                   case when asked.in_month then asked.month_left - key_month[k] end) then
            verdicts[asked.at] := 'budget';
            availables[asked.at] := greatest(0, least(case when asked.in_day then asked.day_left - key_day[k] end,
                                                      case when asked.in_month then asked.month_left - key_month[k] end));
        elsif asked.amount > bound_left[k] + free_left[a] then
            verdicts[asked.at] := 'account_short';
            availables[asked.at] := bound_left[k] + free_left[a];
        else
            verdicts[asked.at] := 'admitted';
            admitted := admitted + 1;
            extended := extended + (asked.sequence > 0)::int;
            account_held[a] := account_held[a] + asked.amount;
            key_held[k] := key_held[k] + asked.amount;
            key_admitted[k] := true;
            if asked.in_day then key_day[k] := key_day[k] + asked.amount; end if;
            if asked.in_month then key_month[k] := key_month[k] + asked.amount; end if;
            left_to_draw := asked.amount;
            draw_from[asked.at] := d + 1;
            while left_to_draw > 0 loop
                if bound_left[k] > 0 then
                    n := bound_at[k];
                    part := least(left_to_draw, lot_left[n]);
                    bound_left[k] := bound_left[k] - part;
                    if part = lot_left[n] then bound_at[k] := n + 1; end if;
                else
                    n := free_at[a];
                    part := least(left_to_draw, lot_left[n]);
                    free_left[a] := free_left[a] - part;
                    if part = lot_left[n] then free_at[a] := n + 1; end if;
                end if;
                lot_left[n] := lot_left[n] - part;
                lot_drawn[n] := true;
                d := d + 1; draw_lot[d] := lot_id[n]; draw_amount[d] := part;
                left_to_draw := left_to_draw - part;
            end loop;
            draw_to[asked.at] := d;
        end if;
    end loop;

    if admitted > extended then
        insert into hold (request_id, account_id, key_id, worker_id, price_id, group_millionths, amount, lots, amounts,
                          input_count, day, created_at, deadline_at)
        select r.request_id, r.account_id, r.key_id, p_worker, r.price_id, r.group_millionths, r.amount,
               draw_lot[draw_from[r.at]:draw_to[r.at]], draw_amount[draw_from[r.at]:draw_to[r.at]], r.input,
               greatest(b.day, today), this_moment, this_moment + make_interval(secs => r.seconds)
        from unnest(p_request, p_sequence, p_account, p_key, p_amount, p_price, p_group, p_input, p_seconds)
             with ordinality r (request_id, sequence, account_id, key_id, amount, price_id, group_millionths, input,
                                seconds, at)
        join key_books b on b.key_id = r.key_id
        where verdicts[r.at] = 'admitted' and r.sequence = 0;
    end if;
    if extended > 0 then
        update hold h
        set amount = h.amount + r.amount, extensions = r.sequence,
            lots = h.lots || draw_lot[draw_from[r.at]:draw_to[r.at]],
            amounts = h.amounts || draw_amount[draw_from[r.at]:draw_to[r.at]],
            deadline_at = greatest(h.deadline_at, this_moment + make_interval(secs => r.seconds))
        from unnest(p_request, p_sequence, p_amount, p_seconds) with ordinality
             r (request_id, sequence, amount, seconds, at)
        where h.request_id = r.request_id and verdicts[r.at] = 'admitted' and r.sequence > 0;
    end if;
    if admitted > 0 then
        update lot set remaining = u.remaining
        from unnest(lot_id, lot_left, lot_drawn) u (id, remaining, drawn) where lot.id = u.id and u.drawn;
        update account_books b set held = b.held + u.held
        from unnest(accounts, account_held) u (id, held) where b.account_id = u.id and u.held > 0;
        update key_books b
        set held = b.held + u.held, day = greatest(b.day, today),
            day_total = u.day + case when b.day >= today then b.day_total else 0 end,
            month_total = u.month + case when date_trunc('month', b.day) >= date_trunc('month', today)
                                         then b.month_total else 0 end
        -- A hold of nothing moves the day on as well: its charge may be more than nothing.
        from unnest(keys, key_held, key_day, key_month, key_admitted) u (id, held, day, month, admitted)
        where b.key_id = u.id and u.admitted;
    end if;
    return query select * from unnest(p_request, verdicts, availables);
end $$;

-- Drawing beyond a hold ------------------------------------------------------------------------------------------------
-- Take up to `wanted` from what a key may draw (or, for no key, from the free lots), in the order of drawing. The caller
-- has locked the account's books.
create function draw_lots(for_account bigint, for_key bigint, wanted bigint)
returns table (lot_id bigint, amount bigint)
language sql volatile
begin atomic
    with pocket as (
        select id, remaining, sum(remaining) over w - remaining as before
        from lot
        where account_id = for_account and (key_id is null or key_id = for_key)
          and remaining > 0 and expires_at > ledger_now() and closed_at is null
        window w as (order by key_id is null, expires_at, id)),
    drawn as (select id, least(remaining, wanted - before)::bigint as part from pocket where before < wanted)
    update lot set remaining = remaining - drawn.part from drawn where lot.id = drawn.id returning lot.id, drawn.part;
end;

-- Quota that came in, or came back, pays what is owed before it can be spent.
create function pay_debt(for_account bigint) returns void
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    owed bigint := (select debt from account_books where account_id = for_account for update);
begin
    if owed > 0 then
        with paid as (
            insert into entry (cause, kind, lot_id, account_id, amount, at)
            select act.id, 'debt_paid', d.lot_id, for_account, d.amount, ledger_now()
            from ledger_uuid() act (id), draw_lots(for_account, null, owed) d
            returning amount)
        update account_books set debt = debt - (select coalesce(sum(amount), 0) from paid) where account_id = for_account;
    end if;
end $$;

-- settle_batch: close holds once, with what was really used ---------------------------------------------------------------
-- Charges consume the held draws in their order; what is left over goes back to its lots or, where a lot was closed
-- meanwhile, becomes an entry of the closing's kind. An overrun draws further lots, and what they lack is owed. A
-- request that is closed already, or was never held, is left alone and told as not settled.
create function settle_batch(
    p_request uuid[], p_account bigint[], p_charge bigint[], p_input bigint[], p_cached bigint[], p_output bigint[],
    p_source text[], p_ending text[], p_attempts text[])
returns table (request_id uuid, settled boolean)
language plpgsql security definer
set search_path = tollkeeper, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
    this_moment timestamptz := ledger_now();
    closed uuid[];
    any_revoked boolean;
    overrun record;
    debtor bigint;
    unpaid bigint;
begin
    perform from account_books where account_id = any (p_account) order by account_id for update;

    with asked as materialized (
        select distinct on (r.request_id) *
        from unnest(p_request, p_account, p_charge, p_input, p_cached, p_output, p_source, p_ending, p_attempts)
             with ordinality r (request_id, account_id, charge, input, cached, output, source, ending, attempts, place)
        order by r.request_id, r.place),
    done as (
        update hold h set charged = r.charge, closed_at = this_moment
        from asked r
        where h.request_id = r.request_id and h.account_id = r.account_id and h.closed_at is null
        returning h.*, r.input, r.cached, r.output, r.source, r.ending, r.attempts, r.place),
    draws as (
        select done.request_id, done.account_id, done.key_id, d.lot_id, d.amount,
               greatest(0, least(d.amount, done.charged - (sum(d.amount) over w - d.amount)))::bigint as charged
        from done, unnest(done.lots, done.amounts) with ordinality d (lot_id, amount, n)
        window w as (partition by done.request_id order by d.n)),
    -- A hold that was extended may have drawn one lot twice.
    parts as materialized (
        select d.request_id, d.account_id, d.key_id, d.lot_id, sum(d.charged)::bigint as charged,
               sum(d.amount - d.charged)::bigint as back, l.closed_as
        from draws d join lot l on l.id = d.lot_id group by 1, 2, 3, 4, l.closed_as),
    charges as (
        insert into entry (cause, kind, lot_id, account_id, key_id, amount, at)
        select request_id, 'charged', lot_id, account_id, key_id, charged, this_moment from parts where charged > 0
        union all
        select request_id, closed_as, lot_id, account_id, key_id, back, this_moment
        from parts where back > 0 and closed_as is not null),
    returned as (
        update lot set remaining = lot.remaining + p.back
        from (select lot_id, sum(back)::bigint as back from parts where back > 0 and closed_as is null group by 1) p
        where lot.id = p.lot_id),
    account_totals as (
        update account_books b set held = b.held - t.held, used = b.used + t.charged
        from (select account_id, sum(amount)::bigint as held, sum(charged)::bigint as charged from done group by 1) t
        where b.account_id = t.account_id),
    key_totals as (
        update key_books b
        set held = b.held - t.held, used = b.used + t.charged,
            day_total = b.day_total + t.day_change, month_total = b.month_total + t.month_change
        from (select done.key_id, sum(amount)::bigint as held, sum(charged)::bigint as charged,
                     coalesce(sum(charged - amount) filter (where done.day = kb.day), 0)::bigint as day_change,
                     coalesce(sum(charged - amount) filter (
                         where date_trunc('month', done.day) = date_trunc('month', kb.day)), 0)::bigint as month_change
              from done join key_books kb on kb.key_id = done.key_id group by 1) t
        where b.key_id = t.key_id),
    receipts as (
        insert into usage (request_id, account_id, key_id, price_id, group_millionths, input_tokens, cached_tokens,
                           output_tokens, held, charged, usage_source, ending, attempts, started_at, settled_at)
        select request_id, account_id, key_id, price_id, group_millionths, input, cached, output, amount, charged,
               source, ending, attempts::jsonb, created_at, this_moment
        from done)
    select coalesce(array_agg(done.request_id order by done.place), '{}'),
           (select coalesce(bool_or(closed_as = 'revoked' and charged > 0), false) from parts)
    into closed, any_revoked from done;

    -- What a call spent of a lot that was revoked while it ran is owed, as if it had been spent before.
    if any_revoked then
        with clawed as (
            insert into entry (cause, kind, lot_id, account_id, key_id, amount, at)
            select e.cause, 'clawed', 0, e.account_id, e.key_id, sum(e.amount), this_moment
            from entry e join lot l on l.id = e.lot_id
            where e.cause = any (closed) and e.kind = 'charged' and l.closed_as = 'revoked'
            group by e.cause, e.account_id, e.key_id
            returning account_id, amount)
        update account_books b set debt = b.debt + c.amount
        from (select account_id, sum(amount)::bigint as amount from clawed group by 1) c
        where b.account_id = c.account_id;
    end if;

    for overrun in
        select h.request_id, h.account_id, h.key_id, h.charged - h.amount as amount
        from unnest(closed) with ordinality u (id, at) join hold h on h.request_id = u.id
        where h.charged > h.amount order by u.at
    loop
        with further as (
            insert into entry (cause, kind, lot_id, account_id, key_id, amount, at)
            select overrun.request_id, 'overrun', d.lot_id, overrun.account_id, overrun.key_id, d.amount, this_moment
            from draw_lots(overrun.account_id, overrun.key_id, overrun.amount) d
            returning amount)
        select overrun.amount - coalesce(sum(amount), 0) into unpaid from further;
        if unpaid > 0 then
            insert into entry (cause, kind, lot_id, account_id, key_id, amount, at)
            values (overrun.request_id, 'debt', 0, overrun.account_id, overrun.key_id, unpaid, this_moment);
            update account_books set debt = debt + unpaid where account_id = overrun.account_id;
        end if;
    end loop;

    for debtor in select account_id from account_books where account_id = any (p_account) and debt > 0 loop
        perform pay_debt(debtor);
    end loop;
    return query select r.id, r.id = any (closed) from unnest(p_request) r (id);
end $$;

-- checkpoint_batch: how far a running call has come, and that it still runs ------------------------------------------------
create function checkpoint_batch(
    p_worker bigint, p_request uuid[], p_input bigint[], p_output bigint[], p_seconds integer[])
returns setof uuid
language plpgsql security definer
set search_path = tollkeeper, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
begin
    -- Without the lock of accounts, so a hold that is being settled just now is passed over rather than waited for.
    update hold h
    set input_count = r.input, output_count = greatest(h.output_count, r.output),
        deadline_at = greatest(h.deadline_at, ledger_now() + make_interval(secs => r.seconds))
    from unnest(p_request, p_input, p_output, p_seconds) r (request_id, input, output, seconds)
    where h.request_id = r.request_id and h.request_id in (
        select f.request_id from hold f
        where f.request_id = any (p_request) and f.worker_id = p_worker and f.closed_at is null
        order by f.request_id for update skip locked);
    return query select r.id from unnest(p_request) r (id) where exists (
        select from hold h where h.request_id = r.id and h.worker_id = p_worker and h.closed_at is null);
end $$;

-- Quota in, and the ends of lots ---------------------------------------------------------------------------------------
create function credit(
    p_account bigint, p_key bigint, p_amount bigint, p_source text, p_source_id text, p_months integer, p_days integer,
    out lot_id bigint, out lot_expires_at timestamptz, out replayed boolean)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    term interval := make_interval(months => p_months, days => p_days);
    earlier lot;
begin
    perform from account_books where account_id = p_account for update;
    if p_key is not null and not exists (select from api_key where id = p_key and account_id = p_account) then
        raise exception 'key % is not a key of account %', p_key, p_account using errcode = 'foreign_key_violation';
    end if;
    insert into lot (account_id, key_id, granted, remaining, source, source_id, term, expires_at)
    values (p_account, p_key, p_amount, p_amount, p_source, p_source_id, term, ledger_now() + term)
    on conflict (source, source_id) do nothing
    returning id, expires_at, false into lot_id, lot_expires_at, replayed;
    if found then
        perform pay_debt(p_account);
        return;
    end if;
    select * into earlier from lot where source = p_source and source_id = p_source_id;
    if (earlier.account_id, earlier.key_id, earlier.granted) is distinct from (p_account, p_key, p_amount) then
        raise exception 'source id % was credited before, to another account or with another amount', p_source_id
            using errcode = 'unique_violation', constraint = 'lot_source_source_id_key';
    end if;
    lot_id := earlier.id;
    lot_expires_at := earlier.expires_at;
    replayed := true;
end $$;

-- Close lots that expired more than `grace` ago; what was left of them lapses.
create function close_lots(grace interval, most integer) returns integer
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    due bigint[] := array(select l.id from lot l where l.closed_at is null and l.expires_at <= ledger_now() - grace
                          order by l.expires_at limit most);
    act uuid := ledger_uuid();
    closed integer;
begin
    perform from account_books where account_id in (select account_id from lot where id = any (due))
        order by account_id for update;
    with lapsed as (
        -- Read again under the lock: support may have extended one meanwhile.
        select id, account_id, remaining from lot
        where id = any (due) and closed_at is null and expires_at <= ledger_now() - grace for update),
    entries as (
        insert into entry (cause, kind, lot_id, account_id, amount, at)
        select act, 'expired', id, account_id, remaining, ledger_now() from lapsed where remaining > 0),
    ended as (
        update lot set remaining = 0, closed_at = ledger_now(), closed_as = 'expired'
        from lapsed where lot.id = lapsed.id returning lot.id)
    select count(*) into closed from ended;
    return closed;
end $$;

create function extend_lot(p_lot bigint, until timestamptz) returns boolean
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    of_account bigint;
begin
    perform from account_books where account_id = (select account_id from lot where id = p_lot) for update;
    update lot set expires_at = until where id = p_lot and closed_at is null and expires_at < until
        returning account_id into of_account;
    if not found then
        return false;
    end if;
    perform pay_debt(of_account);
    return true;
end $$;

-- Take a lot back: what is left of it is revoked, what was charged from it is owed. Held parts are told by their settle.
create function revoke_lot(p_lot bigint, out revoked bigint, out owed bigint)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    taken lot;
    act uuid := ledger_uuid();
begin
    perform from account_books where account_id = (select account_id from lot where id = p_lot) for update;
    select * into taken from lot where id = p_lot and closed_at is null for update;
    if not found then
        return;
    end if;
    revoked := taken.remaining;
    update lot set remaining = 0, closed_at = ledger_now(), closed_as = 'revoked' where id = p_lot;
    if revoked > 0 then
        insert into entry (cause, kind, lot_id, account_id, amount, at)
        values (act, 'revoked', p_lot, taken.account_id, revoked, ledger_now());
    end if;
    -- Of an open lot, what neither remains nor is held was spent.
    owed := taken.granted - taken.remaining - (
        select coalesce(sum(d.amount), 0) from hold h, unnest(h.lots, h.amounts) d (lot_id, amount)
        where h.closed_at is null and h.account_id = taken.account_id and d.lot_id = p_lot);
    if owed > 0 then
        insert into entry (cause, kind, lot_id, account_id, amount, at)
        values (act, 'clawed', 0, taken.account_id, owed, ledger_now());
        update account_books set debt = debt + owed where account_id = taken.account_id;
        perform pay_debt(taken.account_id);
    end if;
end $$;

-- Workers --------------------------------------------------------------------------------------------------------------
-- Fence every worker whose heartbeat is older than `silence`: it may take no more holds, and its open ones are orphans.
create function fence_workers(silence interval) returns setof bigint
language sql security definer set search_path = tollkeeper, pg_temp
as $$
    update worker set fenced_at = now()
    where ended_at is null and fenced_at is null and heartbeat_at < now() - silence
    returning id;
$$;

-- Grants ---------------------------------------------------------------------------------------------------------------
grant execute on function
    hold_batch(bigint, uuid[], smallint[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[], integer[]),
    settle_batch(uuid[], bigint[], bigint[], bigint[], bigint[], bigint[], text[], text[], text[]),
    checkpoint_batch(bigint, uuid[], bigint[], bigint[], integer[])
    to tollkeeper_gateway, tollkeeper_worker;
grant execute on function credit(bigint, bigint, bigint, text, text, integer, integer), extend_lot(bigint, timestamptz),
    revoke_lot(bigint) to tollkeeper_console, tollkeeper_worker;
grant execute on function close_lots(interval, integer), fence_workers(interval), missing_partitions(timestamptz),
    drop_old_holds(timestamptz), make_partition(text, timestamptz, timestamptz) to tollkeeper_worker;
grant select on worker, hold, entry, usage to tollkeeper_gateway, tollkeeper_console, tollkeeper_worker;
grant insert (node), update (heartbeat_at, ended_at) on worker to tollkeeper_gateway, tollkeeper_worker;
