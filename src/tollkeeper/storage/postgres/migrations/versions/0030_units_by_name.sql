-- What a call is counted in is its model's: tokens, images, characters or seconds. Nothing is rewritten, and partitions
-- follow their table. Statements of nodes of the version before that name these columns fail from now on; settling does
-- not, for it goes through settle_batch.
alter table usage rename column input_tokens to input_units;
alter table usage rename column cached_tokens to cached_units;
alter table usage rename column output_tokens to output_units;
alter table usage_day rename column input_tokens to input_units;
alter table usage_day rename column cached_tokens to cached_units;
alter table usage_day rename column output_tokens to output_units;

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

-- The accounts behind `p_after`, whole accounts until there were about `p_rows` rows. The last account done, or null when
-- the day is complete. Two workers at the same day take turns, and write the same.
create or replace function recount_usage_day(p_day date, p_after bigint, p_rows integer) returns bigint
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
    select u.account_id, p_day, u.key_id, p.model_id, u.ending, count(*), sum(u.input_units), sum(u.cached_units),
           sum(u.output_units), sum(u.charged)
    from usage u join price p on p.id = u.price_id
    where u.request_id >= first_id and u.request_id < end_id
      and u.account_id > p_after and u.account_id <= coalesce(last_account, u.account_id)
    group by u.account_id, u.key_id, p.model_id, u.ending;
    if last_account is not null then
        return last_account;
    end if;
    delete from usage_day where account_id = 0 and day = p_day;
    insert into usage_day
    select 0, p_day, 0, model_id, ending, sum(calls), sum(input_units), sum(cached_units), sum(output_units),
           sum(charged)
    from usage_day where day = p_day and account_id > 0 group by model_id, ending;
    insert into usage_recounted values (p_day, ledger_now()) on conflict (day) do update set at = excluded.at;
    return null;
end $$;

-- A step of settle_batch, for calls that it settled at `p_at`: what they spent of lots that were revoked while they ran is
-- owed, as if it had been spent before.
create or replace function owe_revoked(p_calls uuid[], p_at timestamptz) returns void
language sql
as $$
    with clawed as (
        insert into entry (cause, kind, lot_id, account_id, key_id, amount, at)
        select e.cause, 'clawed', 0, e.account_id, e.key_id, sum(e.amount), p_at
        from entry e join lot l on l.id = e.lot_id
        where e.cause = any (p_calls) and e.kind = 'charged' and l.closed_as = 'revoked'
        group by e.cause, e.account_id, e.key_id
        returning account_id, amount)
    update account_books b set debt = b.debt + c.amount
    from (select account_id, sum(amount)::bigint as amount from clawed group by 1) c
    where b.account_id = c.account_id
$$;

-- A step of settle_batch, for calls that it settled at `p_at`: those that cost more than they held draw further lots, one
-- call after the other in the order of the array. What the lots lack is owed.
create or replace function draw_overruns(p_calls uuid[], p_at timestamptz) returns void
language plpgsql
as $$
declare
    overrun record;
    unpaid bigint;
begin
    for overrun in
        select h.request_id, h.account_id, h.key_id, h.charged - h.amount as amount
        from unnest(p_calls) with ordinality u (id, at) join hold h on h.request_id = u.id
        where h.charged > h.amount order by u.at
    loop
        with further as (
            insert into entry (cause, kind, lot_id, account_id, key_id, amount, at)
            select overrun.request_id, 'overrun', d.lot_id, overrun.account_id, overrun.key_id, d.amount, p_at
            from draw_lots(overrun.account_id, overrun.key_id, overrun.amount) d
            returning amount)
        select overrun.amount - coalesce(sum(amount), 0) into unpaid from further;
        if unpaid > 0 then
            insert into entry (cause, kind, lot_id, account_id, key_id, amount, at)
            values (overrun.request_id, 'debt', 0, overrun.account_id, overrun.key_id, unpaid, p_at);
            update account_books set debt = debt + unpaid where account_id = overrun.account_id;
        end if;
    end loop;
end $$;

-- Charges consume the held draws in their order; what is left over goes back to its lots or, where a lot was closed
-- meanwhile, becomes an entry of the closing's kind. An overrun draws further lots, and what they lack is owed. A
-- request that is closed already, or was never held, is left alone and told as not settled.
-- `p_parts` is the usage's parts, null for nearly all calls; nodes of a version that knows of none leave it out.
-- One function because what a settlement writes is one statement over one snapshot: hold, lots, books and receipt. What
-- is rare stands in functions of its own (owe_revoked, draw_overruns, pay_debt).
create or replace function settle_batch(
    p_request uuid[], p_account bigint[], p_charge bigint[], p_input bigint[], p_cached bigint[], p_output bigint[],
    p_source text[], p_ending text[], p_attempts text[], p_parts text[] default null)
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
    any_overrun boolean;
    debtor bigint;
begin
    perform from account_books where account_id = any (p_account) order by account_id for update;

    with asked as materialized (
        select distinct on (r.request_id) *
        from unnest(p_request, p_account, p_charge, p_input, p_cached, p_output, p_source, p_ending, p_attempts, p_parts)
             with ordinality r (request_id, account_id, charge, input, cached, output, source, ending, attempts,
                                of_usage, place)
        order by r.request_id, r.place),
    done as (
        update hold h set charged = r.charge, closed_at = this_moment
        from asked r
        where h.request_id = r.request_id and h.account_id = r.account_id and h.charged is null
        returning h.*, r.input, r.cached, r.output, r.source, r.ending, r.attempts, r.of_usage, r.place),
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
        insert into usage (request_id, account_id, key_id, price_id, group_millionths, input_units, cached_units,
                           output_units, held, charged, usage_source, ending, attempts, started_at, settled_at, parts)
        select request_id, account_id, key_id, price_id, group_millionths, input, cached, output, amount, charged,
               source, ending, attempts::jsonb, created_at, this_moment, of_usage::jsonb
        from done)
    select coalesce(array_agg(done.request_id order by done.place), '{}'),
           (select coalesce(bool_or(closed_as = 'revoked' and charged > 0), false) from parts),
           coalesce(bool_or(done.charged > done.amount), false)
    into closed, any_revoked, any_overrun from done;

    if any_revoked then
        perform owe_revoked(closed, this_moment);
    end if;
    if any_overrun then
        perform draw_overruns(closed, this_moment);
    end if;
    for debtor in select account_id from account_books where account_id = any (p_account) and debt > 0 loop
        perform pay_debt(debtor);
    end loop;
    return query select r.id, r.id = any (closed) from unnest(p_request) r (id);
end $$;

-- A step of take_code: why the account cannot redeem that code, with that gift code, whose giver was looked for; null
-- where nothing stands against it. Who the giver is, is found out whatever the code is: time tells nothing of it.
create or replace function code_verdict(
    p_account bigint, p_code redemption_code, p_batch redemption_batch, p_gift_code text, p_giver bigint) returns text
language plpgsql
as $$
declare
    own_gift_code boolean := p_giver = p_account or are_one_person(p_giver, p_account);
begin
    return case
        when p_code.id is null then 'unknown'
        when p_code.redeemed_by = p_account then 'replayed'
        when p_code.redeemed_by is not null then 'used'
        when p_batch.exported_at is null or p_batch.revoked_at is not null then 'closed'
        when p_gift_code is not null and p_giver is null then 'unknown_gift_code'
        when own_gift_code then 'own_gift_code' end;
end $$;

-- Verdicts: redeemed, replayed (by this account, before), unknown, used, closed, unknown_gift_code, own_gift_code, loop.
-- Whatever the code is, it is looked for in the same way, and so is the gift code: time tells nothing of either.
create or replace function take_code(
    p_account bigint, p_digest bytea, p_gift_code text, p_cash_millionths integer, p_gift_millionths integer,
    p_pending_days integer, p_cash_cap bigint, p_gift_cap bigint, p_actor text,
    out verdict text, out top_up_id bigint)
language plpgsql
as $$
declare
    code redemption_code;
    batch redemption_batch;
    giver bigint;
    inviter bigint;
    into_lot bigint;
    loops text := 'no';
begin
    select * into code from redemption_code where digest = p_digest;
    select * into batch from redemption_batch where id = code.batch_id;
    select id into giver from account where gift_code = p_gift_code and disabled_at is null;
    verdict := code_verdict(p_account, code, batch, p_gift_code, giver);
    if verdict is not null then
        top_up_id := case verdict when 'replayed' then code.top_up_id end;
        return;
    end if;

    if giver is not null then
        perform pg_advisory_xact_lock(hashtext('tollkeeper.partners'));
        loops := descends_from(giver, p_account);
        if loops = 'yes' then
            verdict := 'loop';
            return;
        end if;
    end if;
    select i.id into inviter from account a join account i on i.id = a.invited_by
    where a.id = p_account and i.disabled_at is null;
    -- Without gifts where nobody earns by the code, or where it took too long to find out whether that closes a loop.
    if not batch.rewards then
        inviter := null;
    end if;
    if not batch.rewards or loops = 'unknown' then
        giver := null;
    end if;
    perform from account_books where account_id in (p_account, giver, inviter) order by account_id for update;

    -- Somebody may have been faster, or the batch was revoked just now.
    select * into batch from redemption_batch where id = code.batch_id for share;
    select * into code from redemption_code where id = code.id for update;
    verdict := code_verdict(p_account, code, batch, null, null);
    if verdict is not null then
        top_up_id := case verdict when 'replayed' then code.top_up_id end;
        return;
    end if;

    select lot_id into into_lot from credit(p_account, null, batch.quota, 'redemption', code.id::text, batch.months, 0);
    insert into top_up (account_id, code_id, quota, usd_micros, lot_id, gift_code, giver_id, at)
    values (p_account, code.id, batch.quota, batch.usd_micros, into_lot,
            case when giver is not null then p_gift_code end, giver, ledger_now())
    returning id into top_up_id;
    update redemption_code c set redeemed_at = ledger_now(), redeemed_by = p_account, top_up_id = take_code.top_up_id
    where c.id = code.id;
    -- Rounded half up.
    if inviter is not null then
        perform reward_cash(inviter, top_up_id, round(batch.usd_micros::numeric * p_cash_millionths / 1000000)::bigint,
                            p_cash_cap, p_pending_days);
    end if;
    if giver is not null then
        perform reward_gift(side.kind, side.account_id, top_up_id,
                            round(batch.quota::numeric * p_gift_millionths / 1000000)::bigint, p_gift_cap, batch.months)
        from (values ('gift_given', giver), ('gift_received', p_account)) side (kind, account_id);
    end if;
    perform append_audit(p_actor, 'code.redeem', 'account:' || p_account, jsonb_build_object(
        'top_up', top_up_id, 'code', code.id, 'batch', batch.id, 'giver', giver, 'inviter', inviter)
        || case when loops = 'unknown' then '{"gift": "none: too many partners to rule out a loop"}' else '{}' end::jsonb);
    verdict := 'redeemed';
end $$;
