-- Passkeys (WebAuthn). Nothing here is secret: the private key never leaves the device.
create table passkey (
    id            bigint generated always as identity primary key,
    account_id    bigint not null references login,
    -- What its owner calls it.
    name          text not null check (char_length(name) between 1 and 60),
    credential_id bytea not null unique check (octet_length(credential_id) between 1 and 1023),
    public_key    bytea not null check (octet_length(public_key) between 1 and 1024),
    -- Chance, by which the device knows whose it is.
    user_handle   bytea not null check (octet_length(user_handle) between 1 and 64),
    -- As the device counts; 0 of one that does not.
    sign_count    bigint not null check (sign_count >= 0),
    transports    text[] not null,
    created_at    timestamptz not null default ledger_now(),
    last_used_at  timestamptz
);
create index passkey_by_account on passkey (account_id, id);

alter table outbox drop constraint outbox_kind_check;
alter table outbox add constraint outbox_kind_check check (kind in (
    'sign_up', 'reset', 'password_changed', 'second_factor_on', 'second_factor_off', 'passkey_added', 'passkey_removed',
    'price_change', 'price_withdrawn', 'lot_expiring', 'low_balance'));

grant select, delete on passkey to tollkeeper_console;
grant insert (account_id, name, credential_id, public_key, user_handle, sign_count, transports) on passkey
    to tollkeeper_console;
-- A key never becomes another's, nor another key.
grant update (sign_count, last_used_at) on passkey to tollkeeper_console;
