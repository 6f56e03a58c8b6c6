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
