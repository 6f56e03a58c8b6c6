-- Events of keys that used so many percent of their budget: once for each key and day, or month. How many there were.
-- Where no webhook wants to know, nothing is looked at.
create or replace function notice_key_budgets(p_percent integer) returns integer
language plpgsql security definer set search_path = tollkeeper, pg_temp set timezone = 'UTC'
as $$
declare
    today date := ledger_now()::date;
    this_month date := date_trunc('month', ledger_now())::date;
    near record;
    told integer := 0;
begin
    if not exists (select from webhook where disabled_at is null and 'key.budget_near' = any (kinds)) then
        return 0;
    end if;
    for near in
        with close_to as (
            select k.id, k.account_id, k.name, p.*
            from api_key k join key_books b on b.key_id = k.id
            cross join lateral (values
                ('day', today, k.daily_budget, case when b.day >= today then b.day_total else 0 end),
                ('month', this_month, k.monthly_budget, case when b.day >= this_month then b.month_total else 0 end)
            ) p (period, begins, budget, used)
            where (k.daily_budget is not null or k.monthly_budget is not null) and k.revoked_at is null
              and b.day >= this_month and p.budget > 0 and p.used * 100 >= p.budget::numeric * p_percent),
        fresh as (
            insert into key_budget_notice (key_id, period, begins) select id, period, begins from close_to
            on conflict do nothing returning key_id, period)
        select c.* from close_to c join fresh f on f.key_id = c.id and f.period = c.period
    loop
        perform emit_event('key.budget_near', jsonb_build_object(
            'key', near.id, 'key_name', near.name, 'account', near.account_id, 'period', near.period,
            'used_micro_quota', near.used, 'budget_micro_quota', near.budget));
        told := told + 1;
    end loop;
    delete from key_budget_notice where begins < this_month - 40;
    return told;
end $$;
