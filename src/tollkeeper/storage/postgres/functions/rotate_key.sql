-- Whether that account has such a key, not revoked.
create or replace function rotate_key(
    p_account bigint, p_key bigint, p_pepper_version smallint, p_digest bytea, p_hint text, p_keep_seconds integer)
returns boolean
language sql security definer set search_path = tollkeeper, pg_temp
as $$
    update api_key
    set pepper_version = p_pepper_version, digest = p_digest, hint = p_hint, rotated_at = ledger_now(),
        former_digest = case when p_keep_seconds > 0 then digest end,
        former_pepper_version = case when p_keep_seconds > 0 then pepper_version end,
        former_until = case when p_keep_seconds > 0 then ledger_now() + make_interval(secs => p_keep_seconds) end
    where id = p_key and account_id = p_account and revoked_at is null
    returning true
$$;
