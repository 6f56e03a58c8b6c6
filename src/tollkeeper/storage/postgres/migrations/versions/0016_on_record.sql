-- What a part of the service may do with money and with the record, by the database's own rules: a part that was taken over
-- can do what its work needs, under its own name, and no more.
--
-- Rules of this schema
-- 1. No role can move quota by hand without a row in the audit trail. `credit`, `extend_lot` and `revoke_lot` are for other
--    functions; what roles may call writes the row itself, in the same transaction.
-- 2. An audit row tells, beside the actor whom the caller names, the role and the login of the session that wrote it. Those
--    come from the database. `append_audit` is for other functions, too.
-- 3. Rows about money, codes, prices, bans and suspensions are written by the functions that do these things, and by nobody
--    else. So `put_on_record`, for everything that is done by plain statements, does not take them.
-- 4. Amounts and times that are less than nothing are refused, whoever asks.

-- The audit trail ------------------------------------------------------------------------------------------------------
alter table audit add column as_role text, add column as_login text;

-- Rows from before have neither, and keep the hash they have.
create or replace function audit_hash(before bytea, entry audit) returns bytea
language sql immutable set timezone = 'UTC' set datestyle = 'ISO'
return sha256(before || convert_to(
    case when entry.as_role is null
         then jsonb_build_array(entry.id, entry.at, entry.actor, entry.action, entry.subject, entry.detail)
         else jsonb_build_array(entry.id, entry.at, entry.actor, entry.action, entry.subject, entry.detail,
                                entry.as_role, entry.as_login) end::text, 'UTF8'));

-- The role that this session works under. It is the caller's, also within functions that run with their owner's rights.
create function session_role() returns text
language sql stable
return coalesce(nullif(current_setting('role'), 'none'), session_user::text);

create or replace function append_audit(actor text, action text, subject text, detail jsonb) returns void
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    last audit;
    fresh audit;
begin
    perform pg_advisory_xact_lock(hashtext('tollkeeper.audit'));
    select * into last from audit order by id desc limit 1;
    fresh.id := coalesce(last.id, 0) + 1;
    fresh.at := clock_timestamp();
    fresh.actor := append_audit.actor;
    fresh.action := append_audit.action;
    fresh.subject := append_audit.subject;
    fresh.detail := append_audit.detail;
    fresh.as_role := session_role();
    fresh.as_login := session_user;
    fresh.hash := audit_hash(coalesce(last.hash, ''), fresh);
    insert into audit values (fresh.*);
end $$;

create function put_on_record(p_actor text, p_action text, p_subject text, p_detail jsonb) returns void
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
begin
    if p_action in ('account.credit', 'account.invited', 'account.restrict', 'code.redeem', 'faucet.grant', 'ip.ban',
                    'provider.suspend', 'provider.lift_suspension')
       or split_part(p_action, '.', 1) in ('lot', 'codes', 'withdrawal', 'reward', 'top_up', 'price') then
        raise exception 'a row about % is written by what does it', p_action using errcode = 'insufficient_privilege';
    end if;
    -- The names under which other parts of the service act.
    if p_actor in ('gateway', 'worker', 'abuse control') then
        raise exception '% is not the name of a person', p_actor using errcode = 'insufficient_privilege';
    end if;
    perform append_audit(p_actor, p_action, p_subject, p_detail);
end $$;

-- Quota by hand --------------------------------------------------------------------------------------------------------
create function credit_on_record(
    p_account bigint, p_key bigint, p_amount bigint, p_source text, p_source_id text, p_months integer, p_days integer,
    p_actor text, out lot_id bigint, out lot_expires_at timestamptz, out replayed boolean)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
begin
    if p_months < 0 or p_days < 0 then
        raise exception 'quota that has expired already' using errcode = 'invalid_parameter_value';
    end if;
    select c.lot_id, c.lot_expires_at, c.replayed
    into credit_on_record.lot_id, credit_on_record.lot_expires_at, credit_on_record.replayed
    from credit(p_account, p_key, p_amount, p_source, p_source_id, p_months, p_days) c;
    if not replayed then
        perform append_audit(p_actor, 'account.credit', 'account:' || p_account, jsonb_build_object(
            'amount', p_amount, 'source', p_source, 'source_id', p_source_id));
    end if;
end $$;

create function extend_lot_on_record(p_lot bigint, p_until timestamptz, p_reason text, p_actor text) returns boolean
language plpgsql security definer set search_path = tollkeeper, pg_temp set timezone = 'UTC'
as $$
declare
    before lot;
begin
    select * into before from lot where id = p_lot;
    if not extend_lot(p_lot, p_until) then
        return false;
    end if;
    perform append_audit(p_actor, 'lot.extend', 'lot:' || p_lot, jsonb_build_object(
        'account', before.account_id, 'until', p_until, 'before', before.expires_at, 'reason', p_reason));
    return true;
end $$;

create function revoke_lot_on_record(p_lot bigint, p_reason text, p_actor text, out revoked bigint, out owed bigint)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
begin
    select r.revoked, r.owed into revoke_lot_on_record.revoked, revoke_lot_on_record.owed from revoke_lot(p_lot) r;
    if revoked is not null then
        perform append_audit(p_actor, 'lot.revoke', 'lot:' || p_lot, jsonb_build_object(
            'revoked', revoked, 'owed', owed, 'reason', p_reason));
    end if;
end $$;

-- The name of the account that is no longer suspended; null where it was not. The worker lifts under its own name only.
drop function lift_suspension(integer);
create function lift_suspension(p_id integer, p_actor text) returns text
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    account_name text;
begin
    select name into account_name from provider_account where id = p_id and suspended_at is not null for update;
    if found then
        update provider_account set suspended_at = null, suspended_because = null where id = p_id;
        perform append_audit(
            case session_role() when 'tollkeeper_worker' then 'worker' else p_actor end,
            'provider.lift_suspension', 'provider_account:' || account_name, '{}');
    end if;
    return account_name;
end $$;

-- Less than nothing ----------------------------------------------------------------------------------------------------
create or replace function hold_batch(p_worker bigint, p_request uuid[], p_sequence smallint[], p_account bigint[], p_key bigint[], p_amount bigint[], p_price bigint[], p_group bigint[], p_input bigint[], p_seconds integer[])
returns table (request_id uuid, verdict text, available bigint)
language plpgsql
security definer
set search_path = tollkeeper, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
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
    -- Less than nothing would be quota out of thin air: a hold that shrinks, and books that do not know it.
    if 0 > any (p_amount) or 0 > any (p_sequence) or 0 > any (p_input) or 0 > any (p_seconds)
       or array_position(p_amount, null) is not null or array_position(p_sequence, null) is not null then
        raise exception 'a hold of less than nothing' using errcode = 'invalid_parameter_value';
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
        cross join lateral (select * from lot where account_id = t.id and expires_at > this_moment offset 0) l
        where l.remaining > 0 and (l.key_id is null or l.key_id = any (keys))
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

create or replace function close_lots(grace interval, most integer)
returns integer
language plpgsql
security definer
set search_path = tollkeeper, pg_temp
as $$
declare
    due bigint[] := array(select l.id from lot l where l.closed_at is null and l.expires_at <= ledger_now() - grace
                          order by l.expires_at limit most);
    act uuid := ledger_uuid();
    closed integer;
begin
    if grace is null or grace < interval '0' then
        raise exception 'lots are closed after their time, not before' using errcode = 'invalid_parameter_value';
    end if;
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

create or replace function drop_old_holds(before timestamp with time zone)
returns integer
language plpgsql
security definer
set search_path = tollkeeper, pg_temp
set timezone = 'UTC'
set lock_timeout = '200ms'
as $$
declare
    week regclass;
    open_still boolean;
    dropped integer := 0;
begin
    if before > ledger_now() then
        raise exception 'holds of the future are not old' using errcode = 'invalid_parameter_value';
    end if;
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

create or replace function fence_workers(silence interval) returns setof bigint
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
begin
    if silence is null or silence <= interval '0' then
        raise exception 'a worker that was heard just now is not silent' using errcode = 'invalid_parameter_value';
    end if;
    return query
        update worker set fenced_at = now()
        where ended_at is null and fenced_at is null and heartbeat_at < now() - silence
        returning id;
end $$;

-- Grants ---------------------------------------------------------------------------------------------------------------
revoke execute on function append_audit(text, text, text, jsonb),
    credit(bigint, bigint, bigint, text, text, integer, integer), extend_lot(bigint, timestamptz), revoke_lot(bigint)
    from tollkeeper_console, tollkeeper_worker;
grant execute on function put_on_record(text, text, text, jsonb),
    credit_on_record(bigint, bigint, bigint, text, text, integer, integer, text),
    extend_lot_on_record(bigint, timestamptz, text, text), revoke_lot_on_record(bigint, text, text)
    to tollkeeper_console;
grant execute on function lift_suspension(integer, text) to tollkeeper_console, tollkeeper_worker;
