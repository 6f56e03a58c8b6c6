-- Names of parameters beyond those that are listed, which an operator lets pass to a provider account.
alter table provider_account add column passes text[] not null default '{}'
    check (array_position(passes, null) is null and cardinality(passes) <= 64);

grant update (passes) on provider_account to tollkeeper_console;
