-- The vendors: what a provider account does not take, and which version of its vendor's interface it is asked in.

-- Names of parameters. They are left out of what it is sent, or the call goes to another account.
alter table provider_account add column rejects text[] not null default '{}'
    check (array_position(rejects, null) is null and cardinality(rejects) <= 64);
-- Null: the vendor's usual one.
alter table provider_account add column api_version text check (api_version ~ '^[0-9A-Za-z._-]{1,40}$');

-- Grants -----------------------------------------------------------------------------------------------------------
grant update (rejects, api_version) on provider_account to tollkeeper_console;
