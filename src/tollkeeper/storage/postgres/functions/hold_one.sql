-- Reserve quota for one new call, with the verdicts of `hold_batch`: the same judgement without its arrays, which take
-- twice as long where there is one call and somebody waits for it. A test holds the two against each other; beyond what
-- they compare lie only books that cannot be (a key without any, lots of 2^62 units and more).
-- One function because it is one judgement with one line of verdicts, in the order in which `hold_batch` has them.
create or replace function hold_one(
    p_worker bigint, p_request uuid, p_account bigint, p_key bigint, p_amount bigint, p_price bigint, p_group bigint,
    p_input bigint, p_seconds integer)
returns table (verdict text, available bigint)
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
    owed bigint;
    before record;
    books record;
    pocket record;
    key_left bigint; budget_left bigint; account_left bigint := 0;
    left_to_draw bigint := p_amount; part bigint;
    lots bigint[] := '{}'; amounts bigint[] := '{}';
begin
    -- Less than nothing would be quota out of thin air: a hold that shrinks, and books that do not know it.
    if p_amount is null or 0 > least(p_amount, p_input, p_seconds) then
        raise exception 'a hold of less than nothing' using errcode = 'invalid_parameter_value';
    end if;
    select debt into owed from account_books where account_id = p_account for update;
    -- Under the lock: who waited for it may have died meanwhile, and what it left been settled.
    if not exists (select from worker where id = p_worker and fenced_at is null and ended_at is null) then
        raise exception 'the life of worker % is over', p_worker using errcode = 'TK001';
    end if;

    select account_id, key_id, closed_at into before from hold where request_id = p_request;
    if found then
        return query select case when (before.account_id, before.key_id) is distinct from (p_account, p_key)
                                 then 'unknown_hold'
                                 when before.closed_at is not null then 'closed' else 'replayed' end, 0::bigint;
        return;
    end if;
    select b.day, b.day_total, b.month_total, ak.quota - b.used - b.held as key_left, ak.daily_budget, ak.monthly_budget,
           date_trunc('month', b.day) >= date_trunc('month', today) as in_month
    into books
    from api_key ak left join key_books b on b.key_id = ak.id
    where ak.id = p_key and ak.account_id = p_account;
    if not found then
        return query select 'unknown_key', 0::bigint;
        return;
    end if;
    if owed > 0 then
        return query select 'debt', owed;
        return;
    end if;
    key_left := books.key_left;
    if p_amount > key_left then
        return query select 'key_short', greatest(0, key_left);
        return;
    end if;
    budget_left := least(books.daily_budget - case when books.day >= today then books.day_total else 0 end,
                         books.monthly_budget - case when books.in_month then books.month_total else 0 end);
    if p_amount > budget_left then
        return query select 'budget', greatest(0, budget_left);
        return;
    end if;
    -- Lots of the key itself go first, then those that expire first.
    for pocket in
        select id, remaining from lot
        where account_id = p_account and expires_at > this_moment and remaining > 0 and (key_id is null or key_id = p_key)
        order by key_id nulls last, expires_at, id
    loop
        -- Bounded: more than any hold can ask for is enough.
        account_left := least(account_left + pocket.remaining, 4611686018427387904);
        if left_to_draw > 0 then
            part := least(left_to_draw, pocket.remaining);
            lots := lots || pocket.id; amounts := amounts || part;
            left_to_draw := left_to_draw - part;
        end if;
    end loop;
    if left_to_draw > 0 then
        return query select 'account_short', account_left;
        return;
    end if;

    insert into hold (request_id, account_id, key_id, worker_id, price_id, group_millionths, amount, lots, amounts,
                      input_count, day, created_at, deadline_at)
    values (p_request, p_account, p_key, p_worker, p_price, p_group, p_amount, lots, amounts, p_input,
            greatest(books.day, today), this_moment, this_moment + make_interval(secs => p_seconds));
    if p_amount > 0 then
        update lot set remaining = remaining - u.part from unnest(lots, amounts) u (id, part) where lot.id = u.id;
        update account_books set held = held + p_amount where account_id = p_account;
    end if;
    -- A hold of nothing moves the day on as well: its charge may be more than nothing.
    update key_books
    set held = held + p_amount, day = greatest(day, today),
        day_total = p_amount + case when day >= today then day_total else 0 end,
        month_total = p_amount + case when books.in_month then month_total else 0 end
    where key_id = p_key;
    return query select 'admitted', least(account_left - p_amount, key_left - p_amount, budget_left - p_amount);
end $$;
