create or replace function usage_day_is_closed(p_day date) returns boolean
language sql stable security definer set search_path = tollkeeper, pg_temp set timezone = 'UTC'
as $$
    select ledger_now() >= (p_day + 1) + interval '1 hour' and not exists (
        select from hold where closed_at is null
            and request_id >= uuid_floor(p_day) and request_id < uuid_floor(p_day + 1))
$$;
