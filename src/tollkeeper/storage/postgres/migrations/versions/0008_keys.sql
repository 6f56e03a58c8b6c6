-- Keys: the networks from which one may be used, and the old text of one that was rotated, for a while.

-- Null: from anywhere.
alter table api_key add column only_networks cidr[]
    check (cardinality(only_networks) between 1 and 100 and array_position(only_networks, null) is null);
grant update (only_networks) on api_key to tollkeeper_console;

-- A rotated key keeps its number, and with it its quota, budgets, lots and history; only its text is another one.
alter table api_key add column rotated_at timestamptz;
alter table api_key add column former_digest bytea check (octet_length(former_digest) = 32);
alter table api_key add column former_until timestamptz;
alter table api_key add check ((former_digest is null) = (former_until is null));
create unique index api_key_former_digest on api_key (former_digest) where former_digest is not null;

-- Whether that account has such a key, not revoked.
create function rotate_key(
    p_account bigint, p_key bigint, p_pepper_version smallint, p_digest bytea, p_hint text, p_keep_seconds integer)
returns boolean
language sql security definer set search_path = tollkeeper, pg_temp
as $$
    update api_key
    set pepper_version = p_pepper_version, digest = p_digest, hint = p_hint, rotated_at = ledger_now(),
        former_digest = case when p_keep_seconds > 0 then digest end,
        former_until = case when p_keep_seconds > 0 then ledger_now() + make_interval(secs => p_keep_seconds) end
    where id = p_key and account_id = p_account and revoked_at is null
    returning true
$$;
grant execute on function rotate_key(bigint, bigint, smallint, bytea, text, integer) to tollkeeper_console;

-- A new key has what its owner asked for, and nothing of its later life.
revoke insert on api_key from tollkeeper_console;
grant insert (account_id, name, pepper_version, digest, hint, quota, only_models, expires_at, only_networks, daily_budget,
    monthly_budget) on api_key to tollkeeper_console;
