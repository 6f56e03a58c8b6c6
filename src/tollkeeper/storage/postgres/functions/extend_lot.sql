create or replace function extend_lot(p_lot bigint, until timestamptz) returns boolean
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    of_account bigint;
begin
    perform from account_books where account_id = (select account_id from lot where id = p_lot) for update;
    update lot set expires_at = until where id = p_lot and closed_at is null and expires_at < until
        returning account_id into of_account;
    if not found then
        return false;
    end if;
    perform pay_debt(of_account);
    return true;
end $$;
