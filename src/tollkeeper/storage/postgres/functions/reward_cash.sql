create or replace function reward_cash(p_account bigint, p_top_up bigint, p_full bigint, p_cap bigint, p_pending_days integer)
returns void
language sql
as $$
    with granted as (
        insert into reward (kind, account_id, top_up_id, full_amount, amount, granted_at, available_at)
        select 'referral_cash', p_account, p_top_up, p_full, left_by_cap(p_account, '{referral_cash}', p_full, p_cap),
               ledger_now(), ledger_now() + make_interval(days => p_pending_days)
        where p_full > 0
        returning id, amount)
    insert into cash_entry (account_id, kind, usd_micros, reward_id)
    select p_account, 'granted', amount, id from granted where amount > 0
$$;
