-- Give a login another role, on the record; its sessions end, for those of staff are of another kind. Verdicts: set, same,
-- unknown (no login).
create or replace function set_login_role(p_account bigint, p_role text, p_actor text, out verdict text)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    role_before text;
    ended bigint;
begin
    select role into role_before from login where account_id = p_account for no key update;
    verdict := case when not found then 'unknown' when role_before = p_role then 'same' else 'set' end;
    if verdict <> 'set' then
        return;
    end if;
    update login set role = p_role where account_id = p_account;
    with over as (
        update session set revoked_at = ledger_now()
        where account_id = p_account and revoked_at is null and expires_at > ledger_now() returning id)
    select count(*) into ended from over;
    perform append_audit(p_actor, 'login.role', 'account:' || p_account, jsonb_build_object(
        'before', role_before, 'after', p_role, 'sessions', ended));
end $$;
