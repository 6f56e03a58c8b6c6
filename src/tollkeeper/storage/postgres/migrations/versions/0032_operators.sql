-- What programs and command lines of staff show. Only the digest of its text is kept.
create table operator_key (
    id            bigint generated always as identity primary key,
    name          text not null check (length(name) between 1 and 64),
    digest        bytea not null unique check (octet_length(digest) = 32),
    hint          text not null,
    scopes        text[] not null check (
        cardinality(scopes) > 0 and scopes <@ array['read', 'support', 'money', 'catalog', 'everything']),
    only_networks cidr[] check (cardinality(only_networks) between 1 and 100),
    -- The staff login that it belongs to; none: a program's.
    account_id    bigint references account (id),
    created_at    timestamptz not null default ledger_now(),
    created_by    text not null,
    expires_at    timestamptz not null,
    revoked_at    timestamptz,
    last_used_at  timestamptz
);
-- The audit trail names who acted by this name: of two keys that work, it would not say which.
create unique index operator_key_name on operator_key (name) where revoked_at is null;
grant select, insert, update (revoked_at, last_used_at) on operator_key to tollkeeper_console;

-- Requests of staff that move money, by the idempotency key that came with each.
create table operator_request (
    asker         text not null check (length(asker) between 1 and 100),
    key           text not null check (length(key) between 1 and 255),
    digest        bytea not null check (octet_length(digest) = 32),
    claimed_until timestamptz not null,
    status        smallint,
    answer        bytea check (octet_length(answer) <= 1048576),
    at            timestamptz not null default ledger_now(),
    primary key (asker, key)
);
create index operator_request_by_age on operator_request (at);
grant select, insert, update on operator_request to tollkeeper_console;
grant select, delete on operator_request to tollkeeper_worker;

-- A credit is on the record with its reason. (Nodes of the version before give none.)
drop function credit_on_record(bigint, bigint, bigint, text, text, integer, integer, text);
create or replace function credit_on_record(
    p_account bigint, p_key bigint, p_amount bigint, p_source text, p_source_id text, p_months integer, p_days integer,
    p_actor text, p_reason text default '', out lot_id bigint, out lot_expires_at timestamptz, out replayed boolean)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
begin
    if p_months < 0 or p_days < 0 then
        raise exception 'quota that has expired already' using errcode = 'invalid_parameter_value';
    end if;
    select c.lot_id, c.lot_expires_at, c.replayed
    into credit_on_record.lot_id, credit_on_record.lot_expires_at, credit_on_record.replayed
    from credit(p_account, p_key, p_amount, p_source, p_source_id, p_months, p_days) c;
    if not replayed then
        perform append_audit(p_actor, 'account.credit', 'account:' || p_account, jsonb_build_object(
            'amount', p_amount, 'source', p_source, 'source_id', p_source_id)
            || case p_reason when '' then '{}'::jsonb else jsonb_build_object('reason', p_reason) end);
    end if;
end $$;
grant execute on function credit_on_record(bigint, bigint, bigint, text, text, integer, integer, text, text)
    to tollkeeper_console;

-- Staff follow the chain of the audit trail on their own.
grant execute on function audit_hash(bytea, audit) to tollkeeper_console;
