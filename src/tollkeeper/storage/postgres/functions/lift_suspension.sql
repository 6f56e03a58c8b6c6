create or replace function lift_suspension(p_id integer, p_actor text) returns text
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    account_name text;
begin
    select name into account_name from provider_account where id = p_id and suspended_at is not null for update;
    if found then
        update provider_account set suspended_at = null, suspended_because = null where id = p_id;
        perform append_audit(
            case session_role() when 'tollkeeper_worker' then 'worker' else p_actor end,
            'provider.lift_suspension', 'provider_account:' || account_name, '{}');
    end if;
    return account_name;
end $$;
