-- The house: accounts and keys, quota lots, the catalog with its price book, provider accounts, nodes, the audit
-- trail, and the change feed that keeps every node's snapshots fresh.
--
-- Rules of this schema
-- 1. Amounts are BIGINT micro-quota, with CHECKs for their range. Multipliers are NUMERIC with six decimals.
-- 2. Running totals that every call touches stand in narrow tables of their own (account_books, key_books). No role
--    may write them, or lots, directly: quota moves only through functions of this schema, which run as its owner.
-- 3. Time is ledger_now(), which tests may replace.

-- The roles tollkeeper_gateway, _console and _worker are groups without login, made before the first migration; a
-- deployment's own users become members of them. Everything here belongs to tollkeeper_migrations.
grant usage on schema tollkeeper to tollkeeper_gateway, tollkeeper_console, tollkeeper_worker;
-- Functions are for those to whom they are granted, not for everybody as is PostgreSQL's custom.
alter default privileges revoke execute on functions from public;

-- Time -------------------------------------------------------------------------------------------------------------
create function ledger_now() returns timestamptz
language sql stable parallel safe
return now();

-- The change feed --------------------------------------------------------------------------------------------------
-- One row for each change that a snapshot in some node's memory must learn of. Readers ask for rows whose
-- transaction was not yet finished at their last look, so a late commit is never missed.
create table change (
    id             bigint generated always as identity primary key,
    transaction_id xid8 not null default pg_current_xact_id(),
    at             timestamptz not null default clock_timestamp(),
    kind           text not null check (kind in ('key', 'account', 'catalog', 'pool')),
    subject        bigint not null
);
create index change_by_transaction on change (transaction_id);
create index change_by_time on change (at);

create function record_rows() returns trigger
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$ begin insert into change (kind, subject) select tg_argv[0], id from gone; return null; end $$;

create function record_table() returns trigger
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$ begin insert into change (kind, subject) values (tg_argv[0], 0); return null; end $$;

-- The feed keeps an hour: a reader that was away for longer drops its snapshots whole.
create function trim_changes() returns void
language sql security definer set search_path = tollkeeper, pg_temp
as $$ delete from change where at < now() - interval '1 hour' $$;

-- Accounts ---------------------------------------------------------------------------------------------------------
create table account_group (
    name       text primary key check (name ~ '^[a-z][a-z0-9_-]{0,31}$'),
    multiplier numeric(12, 6) not null default 1 check (multiplier >= 0)
);
insert into account_group (name) values ('standard'), ('restricted');

create table account (
    id          bigint generated always as identity primary key,
    name        text not null check (char_length(name) between 1 and 120),
    group_name  text not null default 'standard' references account_group,
    created_at  timestamptz not null default ledger_now(),
    disabled_at timestamptz
);

-- fillfactor 50: each call updates this row in place (HOT), and needs room on its page to do so.
-- `used` only ever grows, and BIGINT would end at 18 million USD.
create table account_books (
    account_id bigint primary key references account,
    held       bigint not null default 0 check (held >= 0),
    used       numeric(30, 0) not null default 0 check (used >= 0),
    debt       bigint not null default 0 check (debt >= 0)
) with (fillfactor = 50);

create table api_key (
    id             bigint generated always as identity primary key,
    account_id     bigint not null references account,
    name           text not null check (char_length(name) between 1 and 64),
    pepper_version smallint not null check (pepper_version > 0),
    digest         bytea not null check (octet_length(digest) = 32),
    hint           text not null check (char_length(hint) <= 16),
    quota          bigint check (quota >= 0),
    only_models    text[],
    created_at     timestamptz not null default ledger_now(),
    expires_at     timestamptz,
    revoked_at     timestamptz
);
create unique index api_key_digest on api_key (digest);
create index api_key_by_account on api_key (account_id, id);

create table key_books (
    key_id bigint primary key references api_key,
    held   bigint not null default 0 check (held >= 0),
    used   numeric(30, 0) not null default 0 check (used >= 0)
) with (fillfactor = 50);

-- An account or key is never without its books.
create function open_account_books() returns trigger
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$ begin insert into account_books (account_id) select id from fresh; return null; end $$;

create function open_key_books() returns trigger
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$ begin insert into key_books (key_id) select id from fresh; return null; end $$;

create trigger open_books after insert on account
    referencing new table as fresh for each statement execute function open_account_books();
create trigger open_books after insert on api_key
    referencing new table as fresh for each statement execute function open_key_books();

-- New keys and accounts are in nobody's snapshot, so only updates and deletions are news.
create trigger tell_of_update after update on account
    referencing old table as gone for each statement execute function record_rows('account');
create trigger tell_of_delete after delete on account
    referencing old table as gone for each statement execute function record_rows('account');
create trigger tell_of_update after update on api_key
    referencing old table as gone for each statement execute function record_rows('key');
create trigger tell_of_delete after delete on api_key
    referencing old table as gone for each statement execute function record_rows('key');

-- Lots -------------------------------------------------------------------------------------------------------------
create table lot (
    id          bigint generated always as identity primary key,
    account_id  bigint not null references account,
    key_id      bigint references api_key,
    granted     bigint not null check (granted between 1 and 1152921504606846976),
    remaining   bigint not null check (remaining between 0 and granted),
    source      text not null check (source ~ '^[a-z_]{1,32}$'),
    source_id   text not null check (char_length(source_id) between 1 and 128),
    term        interval not null check (term > interval '0'),
    created_at  timestamptz not null default ledger_now(),
    expires_at  timestamptz not null,
    closed_at   timestamptz,
    unique (source, source_id)
) with (fillfactor = 50);
-- No predicate on `remaining`: an index that mentions it would make every draw a non-HOT update.
create index lot_by_account on lot (account_id, expires_at, id);

-- The catalog ------------------------------------------------------------------------------------------------------
create table model (
    id            text primary key check (id ~ '^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}$'),
    kind          text not null check (kind in ('chat', 'image', 'speech', 'transcription')),
    introduced_at timestamptz not null default ledger_now(),
    only_groups   text[],
    retired_at    timestamptz
);

-- Append-only: a price is never changed, a later row follows it.
create table price (
    id                    bigint generated always as identity primary key,
    model_id              text not null references model,
    effective_from        timestamptz not null default ledger_now(),
    announced_at          timestamptz not null default ledger_now(),
    model_multiplier      numeric(14, 6) not null check (model_multiplier >= 0),
    completion_multiplier numeric(14, 6) not null default 1 check (completion_multiplier >= 0),
    cached_multiplier     numeric(14, 6) not null default 1 check (cached_multiplier >= 0),
    unique (model_id, effective_from)
);

create trigger tell_nodes after insert or update or delete or truncate on account_group
    for each statement execute function record_table('catalog');
create trigger tell_nodes after insert or update or delete or truncate on model
    for each statement execute function record_table('catalog');
create trigger tell_nodes after insert or update or delete or truncate on price
    for each statement execute function record_table('catalog');

-- Provider accounts ------------------------------------------------------------------------------------------------
-- key_envelope is sealed for this very name: a name never changes, and an envelope moved to another row won't open.
create table provider_account (
    id           integer generated always as identity primary key,
    name         text not null unique check (name ~ '^[a-z0-9][a-z0-9._-]{0,63}$'),
    vendor       text not null check (vendor in ('openai', 'azure', 'anthropic', 'gemini')),
    base_url     text not null check (base_url ~ '^https?://[^[:space:]@]+$'),
    key_envelope bytea not null,
    created_at   timestamptz not null default ledger_now()
);
create trigger tell_nodes after insert or update or delete or truncate on provider_account
    for each statement execute function record_table('pool');

-- Nodes ------------------------------------------------------------------------------------------------------------
create table node (
    name         text primary key check (char_length(name) between 1 and 120),
    version      text not null,
    started_at   timestamptz not null default now(),
    heartbeat_at timestamptz not null default now()
) with (fillfactor = 50);

-- The audit trail --------------------------------------------------------------------------------------------------
-- Append-only, each row sealed with the hash of the one before: a removed or altered row breaks the chain.
create table audit (
    id       bigint primary key,
    at       timestamptz not null,
    actor    text not null,
    action   text not null,
    subject  text not null,
    detail   jsonb not null,
    hash     bytea not null check (octet_length(hash) = 32)
);

create function audit_hash(before bytea, entry audit) returns bytea
language sql immutable set timezone = 'UTC' set datestyle = 'ISO'
return sha256(before || convert_to(jsonb_build_array(
    entry.id, entry.at, entry.actor, entry.action, entry.subject, entry.detail)::text, 'UTF8'));

create function append_audit(actor text, action text, subject text, detail jsonb) returns void
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    last audit;
    fresh audit;
begin
    perform pg_advisory_xact_lock(hashtext('tollkeeper.audit'));
    select * into last from audit order by id desc limit 1;
    fresh.id := coalesce(last.id, 0) + 1;
    fresh.at := clock_timestamp();
    fresh.actor := append_audit.actor;
    fresh.action := append_audit.action;
    fresh.subject := append_audit.subject;
    fresh.detail := append_audit.detail;
    fresh.hash := audit_hash(coalesce(last.hash, ''), fresh);
    insert into audit values (fresh.*);
end $$;

-- Grants -----------------------------------------------------------------------------------------------------------
grant execute on function ledger_now() to tollkeeper_gateway, tollkeeper_console, tollkeeper_worker;
grant execute on function append_audit(text, text, text, jsonb) to tollkeeper_console, tollkeeper_worker;
grant execute on function audit_hash(bytea, audit) to tollkeeper_worker;

grant select on change, account_group, account, account_books, api_key, key_books, lot, model, price,
    provider_account, node to tollkeeper_gateway, tollkeeper_console, tollkeeper_worker;
grant insert, update on node to tollkeeper_gateway, tollkeeper_worker;
grant execute on function trim_changes() to tollkeeper_gateway, tollkeeper_worker;

grant insert on account, api_key, model, price, provider_account to tollkeeper_console;
grant update (name, group_name, disabled_at) on account to tollkeeper_console;
grant update (name, quota, only_models, expires_at, revoked_at) on api_key to tollkeeper_console;
grant update (only_groups, retired_at) on model to tollkeeper_console;
grant update (base_url, key_envelope) on provider_account to tollkeeper_console;
grant select on audit to tollkeeper_console, tollkeeper_worker;
