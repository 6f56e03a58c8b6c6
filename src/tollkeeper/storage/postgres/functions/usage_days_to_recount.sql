create or replace function usage_days_to_recount() returns setof date
language sql stable security definer set search_path = tollkeeper, pg_temp set timezone = 'UTC'
as $$
    select d.day from usage_days() d (day)
    where ledger_now() >= (d.day + 1) + interval '24 hours'
      and not exists (select from usage_recounted r where r.day = d.day)
      and uuid_floor(d.day + 1) <= (select id from usage_horizon) and usage_day_is_closed(d.day)
    order by 1
$$;
