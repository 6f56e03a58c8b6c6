create or replace function restrict_account(
    p_account bigint, p_seconds integer, p_peak_seconds integer, p_within_seconds integer, p_ip text) returns bigint
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    fresh restriction;
begin
    perform from account where id = p_account for no key update;
    if exists (select from restriction
               where account_id = p_account and until > ledger_now() and lifted_at is null) then
        return null;
    end if;
    insert into restriction (account_id, until, peak_seconds, within_seconds, ip)
    values (p_account, ledger_now() + make_interval(secs => p_seconds), p_peak_seconds, p_within_seconds, p_ip)
    returning * into fresh;
    update account set restricted_until = fresh.until where id = p_account;
    perform append_audit('abuse control', 'account.restrict', 'account:' || p_account, jsonb_build_object(
        'restriction', fresh.id, 'until', fresh.until, 'peak_seconds', p_peak_seconds,
        'within_seconds', p_within_seconds));
    return fresh.id;
end $$;
