-- Notices of accounts whose quota fell below what they chose, or `p_threshold`, once for each time that it was above it: one
-- piece of at most ten minutes of calls. Whoever has a login and wants it has a mail; `told` counts the mails. Calls are filed by when they began; p_late looks once more at those that took up to eleven minutes.
create or replace function notice_low_balances(p_late boolean, p_threshold bigint, out told integer, out more boolean)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    here notice_cursor;
    edge timestamptz := ledger_now() - case when p_late then interval '11 minutes' else interval '0' end;
    since timestamptz;
    until timestamptz;
begin
    told := 0;
    more := false;
    select * into here from notice_cursor
    where kind = case when p_late then 'low_balance_late' else 'low_balance' end for update skip locked;
    if not found or here.up_to >= edge then
        return;
    end if;
    since := greatest(here.up_to, edge - interval '1 day');
    until := least(since + interval '10 minutes', edge);
    with active as (
        select distinct u.account_id from usage u
        where u.request_id >= uuid_floor(since) and u.request_id < uuid_floor(until)),
    low as (
        select a.account_id, lots.newest, (lots.remaining + b.held - b.debt)::bigint as balance, wish.threshold,
               coalesce(c.low_balance, true) as wants_mail
        from active a
        join account on account.id = a.account_id and account.disabled_at is null
        left join notice_choice c on c.account_id = a.account_id
        cross join lateral (select coalesce(c.low_balance_below, p_threshold) as threshold) wish
        join account_books b on b.account_id = a.account_id
        left join lateral (
            select n.at, n.balance from notice n where n.account_id = a.account_id and n.kind = 'low_balance'
            order by n.at desc limit 1) said on true
        cross join lateral (
            select coalesce(sum(l.remaining) filter (where l.closed_at is null and l.expires_at > ledger_now()), 0)
                       as remaining,
                   coalesce(sum(l.granted) filter (where said.at is null or l.created_at > said.at), 0) as came,
                   max(l.id) as newest
            from lot l where l.account_id = a.account_id and l.key_id is null) lots
        where lots.remaining + b.held - b.debt < wish.threshold
          -- With what has come since, it must have been above once more.
          and coalesce(said.balance, 0) + lots.came >= wish.threshold),
    told_now as (
        insert into notice (account_id, kind, subject, balance)
        select account_id, 'low_balance', newest, balance from low
        on conflict do nothing returning account_id, balance)
    insert into outbox (kind, email, figures)
    select 'low_balance', l.email, jsonb_build_object('amount', t.balance, 'threshold', low.threshold)
    from told_now t join low using (account_id) join login l using (account_id) where low.wants_mail;
    get diagnostics told = row_count;
    more := until < edge;
    update notice_cursor set up_to = until where kind = here.kind;
end $$;
