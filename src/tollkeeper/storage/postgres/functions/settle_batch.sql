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
