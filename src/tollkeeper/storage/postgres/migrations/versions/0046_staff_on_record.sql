-- Who may act for staff: operator keys and roles are given and taken by functions that write the audit row themselves. No role
-- of the service can do it by plain statements any more, or write such a row without the deed.

-- File a new operator key, on the record. Verdicts: made, name_taken (by one that was not revoked), not_staff (the account
-- has no staff login).
create or replace function make_operator_key(
    p_name text, p_digest bytea, p_hint text, p_scopes text[], p_only_networks cidr[], p_account bigint,
    p_expires_at timestamptz, p_actor text, out verdict text, out key_id bigint)
language plpgsql security definer set search_path = tollkeeper, pg_temp set timezone = 'UTC'
as $$
begin
    if p_account is not null and not exists (select from login where account_id = p_account and role <> 'customer') then
        verdict := 'not_staff';
        return;
    end if;
    insert into operator_key (name, digest, hint, scopes, only_networks, account_id, expires_at, created_by)
    values (p_name, p_digest, p_hint, p_scopes, p_only_networks, p_account, p_expires_at, p_actor)
    on conflict (name) where revoked_at is null do nothing returning id into key_id;
    verdict := case when key_id is null then 'name_taken' else 'made' end;
    if verdict = 'made' then
        perform append_audit(p_actor, 'operator_key.create', 'operator_key:' || p_name, jsonb_build_object(
            'scopes', p_scopes, 'expires_at', p_expires_at, 'account', p_account));
    end if;
end $$;

-- Refuse an operator key from now on, on the record. Verdicts: revoked, revoked_before, unknown.
create or replace function revoke_operator_key(p_name text, p_reason text, p_actor text, out verdict text)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
begin
    update operator_key set revoked_at = ledger_now() where name = p_name and revoked_at is null;
    if found then
        verdict := 'revoked';
        perform append_audit(
            p_actor, 'operator_key.revoke', 'operator_key:' || p_name, jsonb_build_object('reason', p_reason));
        return;
    end if;
    verdict := case when exists (select from operator_key where name = p_name) then 'revoked_before' else 'unknown' end;
end $$;

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

create or replace function put_on_record(p_actor text, p_action text, p_subject text, p_detail jsonb) returns void
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
begin
    if p_action in ('account.credit', 'account.invited', 'account.restrict', 'code.redeem', 'faucet.grant', 'ip.ban',
                    'provider.suspend', 'provider.lift_suspension', 'login.role')
       or split_part(p_action, '.', 1) in ('lot', 'codes', 'withdrawal', 'reward', 'top_up', 'price', 'dispute',
                                           'operator_key') then
        raise exception 'a row about % is written by what does it', p_action using errcode = 'insufficient_privilege';
    end if;
    -- The names under which other parts of the service act.
    if p_actor in ('gateway', 'worker', 'abuse control', 'dispute rule') then
        raise exception '% is not the name of a person', p_actor using errcode = 'insufficient_privilege';
    end if;
    perform append_audit(p_actor, p_action, p_subject, p_detail);
end $$;

revoke insert, update (revoked_at) on operator_key from tollkeeper_console;
revoke update (role) on login from tollkeeper_console;
grant execute on function
    make_operator_key(text, bytea, text, text[], cidr[], bigint, timestamptz, text),
    revoke_operator_key(text, text, text),
    set_login_role(bigint, text, text)
    to tollkeeper_console;
