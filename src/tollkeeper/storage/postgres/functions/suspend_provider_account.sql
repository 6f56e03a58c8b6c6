-- Many calls may hear of a refused key at once: the first takes the account out, on the record, and nodes hear of it
-- once.
create or replace function suspend_provider_account(p_id integer, p_because text) returns void
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    account_name text;
begin
    select name into account_name from provider_account where id = p_id and suspended_at is null for update;
    if not found then
        return;
    end if;
    update provider_account set suspended_at = ledger_now(), suspended_because = p_because where id = p_id;
    perform append_audit(replace(current_setting('role'), 'tollkeeper_', ''), 'provider.suspend',
                         'provider_account:' || account_name, jsonb_build_object('because', p_because));
end $$;
