-- A restriction that somebody decided on, with the reason; until when. Null: the account is restricted already.
create or replace function restrict_by_staff(p_account bigint, p_seconds integer, p_reason text, p_actor text)
    returns timestamptz
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
    insert into restriction (account_id, until, peak_seconds, within_seconds, ip, began_by, reason)
    values (p_account, ledger_now() + make_interval(secs => p_seconds), 0, 0, '', p_actor, p_reason)
    returning * into fresh;
    update account set restricted_until = fresh.until where id = p_account;
    perform append_audit(p_actor, 'account.restrict', 'account:' || p_account, jsonb_build_object(
        'restriction', fresh.id, 'until', fresh.until, 'reason', p_reason));
    return fresh.until;
end $$;
