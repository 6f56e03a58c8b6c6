-- What a price says beyond input, output and cached input, and what of a call's usage that goes by.
--
-- Rules of this schema
-- 1. Parts are JSON objects of whole numbers (`core.money.parts`); null is no parts, as in every row from before.
-- 2. Both functions are replaced by ones that may be called without parts: nodes of the version before go on settling and
--    entering prices. They do not charge by parts, so a price gets its first ones when every node has the new version.
alter table price add column parts jsonb check (jsonb_typeof(parts) = 'object');
-- A column that may be null is added without a look at the rows. The check is not made for those that are there: of a log
-- of millions that would take minutes, and none of them has parts.
alter table usage add column parts jsonb;
alter table usage add constraint usage_parts_check check (jsonb_typeof(parts) = 'object') not valid;

drop function settle_batch(uuid[], bigint[], bigint[], bigint[], bigint[], bigint[], text[], text[], text[]);
drop function enter_price(text, text, numeric, numeric, numeric, timestamptz, interval, text, text);

-- Charges consume the held draws in their order; what is left over goes back to its lots or, where a lot was closed
-- meanwhile, becomes an entry of the closing's kind. An overrun draws further lots, and what they lack is owed. A
-- request that is closed already, or was never held, is left alone and told as not settled.
-- `p_parts` is the usage's parts, null for nearly all calls; nodes of a version that knows of none leave it out.
-- One function because what a settlement writes is one statement over one snapshot: hold, lots, books and receipt.
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
    overrun record;
    debtor bigint;
    unpaid bigint;
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
        insert into usage (request_id, account_id, key_id, price_id, group_millionths, input_tokens, cached_tokens,
                           output_tokens, held, charged, usage_source, ending, attempts, started_at, settled_at, parts)
        select request_id, account_id, key_id, price_id, group_millionths, input, cached, output, amount, charged,
               source, ending, attempts::jsonb, created_at, this_moment, of_usage::jsonb
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

-- What is not said (null) stays as it is. Parts are said all together, and '{}' ends those that there were. Verdicts:
-- entered, unknown_model, no_figures, too_soon, taken. `effective` is from when it holds; where that was too soon, the
-- earliest that was possible; `booked` what is in the book now. What has no price yet needs no notice, and the prices of a
-- model that is added just now hold from when its author says.
create or replace function enter_price(
    p_model text, p_variant text, p_multiplier numeric, p_completion numeric, p_cached numeric, p_from timestamptz,
    p_notice interval, p_forced_because text, p_actor text, p_parts jsonb default null,
    out verdict text, out booked price, out effective timestamptz)
language plpgsql security definer set search_path = tollkeeper, pg_temp set timezone = 'UTC'
as $$
declare
    of_model model;
    before price;
    is_new boolean;
    is_first boolean;
    this_moment timestamptz;
    earliest timestamptz;
begin
    select * into of_model from model where id = p_model and retired_at is null for no key update;
    if not found then
        verdict := 'unknown_model';
        return;
    end if;
    -- The wait for the audit trail comes before the look at the clock, not between it and the commit.
    perform pg_advisory_xact_lock(hashtext('tollkeeper.audit'));
    this_moment := ledger_clock();
    -- A model that is added just now has all its prices for the first time.
    is_new := of_model.introduced_at = ledger_now();
    is_first := is_new or not exists (
        select from price p where p.model_id = p_model and p.variant = p_variant and p.withdrawn_at is null);
    if is_new then
        earliest := ledger_now();
    elsif is_first then
        earliest := this_moment;
    else
        earliest := this_moment + greatest(
            case when p_forced_because is null then p_notice else interval '0' end, time_to_tell_nodes());
    end if;
    effective := coalesce(p_from, earliest);
    if not is_new and effective < earliest then
        verdict := 'too_soon';
        effective := earliest;
        return;
    end if;
    if exists (select from price p where p.model_id = p_model and p.variant = p_variant
               and p.effective_from = effective and p.withdrawn_at is null) then
        verdict := 'taken';
        return;
    end if;
    select * into before from price p
    where p.model_id = p_model and p.variant = p_variant and p.effective_from < effective and p.withdrawn_at is null
    order by p.effective_from desc limit 1;
    if coalesce(p_multiplier, before.model_multiplier) is null then
        verdict := 'no_figures';
        return;
    end if;
    insert into price (model_id, variant, effective_from, model_multiplier, completion_multiplier, cached_multiplier,
                       parts, entered_by, forced_because)
    values (p_model, p_variant, effective, coalesce(p_multiplier, before.model_multiplier),
            coalesce(p_completion, before.completion_multiplier, 1), coalesce(p_cached, before.cached_multiplier, 1),
            nullif(coalesce(p_parts, before.parts), '{}'), p_actor, p_forced_because)
    returning * into booked;
    verdict := 'entered';
    if not is_first then
        insert into price_announcement (price_id, looked_until) values (booked.id, ledger_now() - interval '30 days');
    end if;
    -- The prices of a new model are told with it.
    if not is_new then
        perform append_audit(p_actor, 'price.enter', 'price:' || booked.id, jsonb_build_object(
            'model', p_model, 'variant', p_variant, 'from', effective, 'multiplier', p_multiplier,
            'completion', p_completion, 'cached', p_cached, 'parts', p_parts, 'forced', p_forced_because));
    end if;
end $$;

-- What a call costs: the formula of `core.money.prices`, rounded half up, in micro-quota. NUMERIC is exact, so every factor
-- is multiplied and none divided. Multipliers are as in the price book; those within parts and tiers are millionths.
-- It is asked for every call of a week, so it makes do without queries wherever it can.
create or replace function priced(
    p_group bigint, p_model numeric, p_completion numeric, p_cached numeric, p_price_parts jsonb,
    p_input bigint, p_cached_input bigint, p_output bigint, p_usage_parts jsonb)
returns numeric
language plpgsql immutable parallel safe
as $$
declare
    model numeric := p_model;
    completion numeric := p_completion;
    cached numeric := p_cached;
    tiers jsonb := p_price_parts -> 'tiers';
    tier jsonb;
    weighted numeric;
    amounts numeric;
begin
    if tiers is not null then
        for place in 0 .. jsonb_array_length(tiers) - 1 loop
            if p_input > (tiers -> place ->> 'above_tokens')::bigint then
                tier := tiers -> place;
            end if;
        end loop;
        if tier is not null then
            model := (tier ->> 'model')::numeric * 0.000001;
            completion := coalesce((tier ->> 'completion')::numeric * 0.000001, completion);
            cached := coalesce((tier ->> 'cached')::numeric * 0.000001, cached);
        end if;
    end if;
    weighted := p_input - p_cached_input + p_cached_input * cached + p_output * completion;
    if p_price_parts is null then
        -- Without prices of their own, parts cost what they would be without them.
        return round(p_group * model * weighted);
    end if;
    amounts := coalesce((p_price_parts ->> 'per_call')::numeric, 0);
    if p_usage_parts is not null then
        -- Each part is counted above at what it costs without a price of its own; here comes the difference.
        weighted := weighted
            + coalesce((p_usage_parts ->> 'written_5m')::numeric
                       * ((p_price_parts ->> 'written_5m')::numeric * 0.000001 - 1), 0)
            + coalesce((p_usage_parts ->> 'written_1h')::numeric
                       * ((p_price_parts ->> 'written_1h')::numeric * 0.000001 - 1), 0)
            + coalesce((p_usage_parts ->> 'image_input')::numeric
                       * ((p_price_parts ->> 'image_input')::numeric * 0.000001 - 1), 0)
            + coalesce((p_usage_parts ->> 'audio_input')::numeric
                       * ((p_price_parts ->> 'audio_input')::numeric * 0.000001 - 1), 0)
            + coalesce((p_usage_parts ->> 'image_output')::numeric
                       * ((p_price_parts ->> 'image_output')::numeric * 0.000001 - completion), 0)
            + coalesce((p_usage_parts ->> 'audio_output')::numeric
                       * ((p_price_parts ->> 'audio_output')::numeric * 0.000001 - completion), 0);
        if p_usage_parts ? 'tools' then
            amounts := amounts + coalesce((
                select sum(used.times::numeric * (p_price_parts -> 'tools' ->> used.tool)::numeric)
                from jsonb_each_text(p_usage_parts -> 'tools') used (tool, times)), 0);
        end if;
    end if;
    return round(p_group * (model * weighted + amounts * 0.000001));
end $$;

grant execute on function
    settle_batch(uuid[], bigint[], bigint[], bigint[], bigint[], bigint[], text[], text[], text[], text[])
    to tollkeeper_gateway, tollkeeper_worker;
grant execute on function
    enter_price(text, text, numeric, numeric, numeric, timestamptz, interval, text, text, jsonb),
    priced(bigint, numeric, numeric, numeric, jsonb, bigint, bigint, bigint, jsonb)
    to tollkeeper_console;
