-- Without a list of models an account serves those of this family; without one either, every model. (Nodes of the
-- version before read no family: to them it serves every model, as all such accounts did.)
alter table provider_account add column family text check (family ~ '^[a-z]{1,20}$');
alter table provider_account add check (family is null or models is null);
grant update (family) on provider_account to tollkeeper_console;

-- Names of accounts that were removed: calls are on record under them, so nobody else may have them.
create table former_provider_account (
    name       text primary key,
    vendor     text not null,
    base_url   text not null,
    created_at timestamptz not null,
    removed_at timestamptz not null default ledger_now()
);
grant select, insert on former_provider_account to tollkeeper_console;
grant delete on provider_account to tollkeeper_console;
