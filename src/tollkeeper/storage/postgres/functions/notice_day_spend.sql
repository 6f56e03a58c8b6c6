-- Mails to accounts that spent more in a day (UTC) than they wanted to hear of, once for each day: yesterday and today, as far
-- as calls are added up. How many mails.
create or replace function notice_day_spend() returns integer
language plpgsql security definer set search_path = tollkeeper, pg_temp set timezone = 'UTC'
as $$
declare
    told integer;
begin
    with above as materialized (
        select c.account_id, d.day, s.spent, c.day_spend_above
        from notice_choice c
        join account a on a.id = c.account_id and a.disabled_at is null
        cross join generate_series(ledger_now()::date - 1, ledger_now()::date, interval '1 day') d (day)
        cross join lateral (
            select sum(u.charged)::bigint as spent from usage_day u
            where u.account_id = c.account_id and u.day = d.day::date) s
        -- What was before the wish is nobody's news.
        where c.day_spend_above is not null and d.day >= c.changed_at::date and s.spent > c.day_spend_above
          and exists (select from login where login.account_id = c.account_id)),
    told_now as (
        insert into notice (account_id, kind, subject)
        select account_id, 'day_spend', to_char(day, 'YYYYMMDD')::bigint from above
        on conflict do nothing returning account_id, subject)
    insert into outbox (kind, email, figures)
    select 'day_spend', l.email, jsonb_build_object(
        'amount', above.spent, 'threshold', above.day_spend_above, 'day', to_char(above.day, 'YYYY-MM-DD'))
    from told_now t
    join above on above.account_id = t.account_id and to_char(above.day, 'YYYYMMDD')::bigint = t.subject
    join login l on l.account_id = t.account_id;
    get diagnostics told = row_count;
    return told;
end $$;
