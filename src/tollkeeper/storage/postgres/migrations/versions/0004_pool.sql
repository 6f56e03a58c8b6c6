-- The pool: where each provider account stands in it, how much it may be given, and why one is given nothing.

alter table provider_account add column tier smallint not null default 1 check (tier >= 1);
alter table provider_account add column weight integer not null default 1 check (weight between 0 and 1000);
alter table provider_account add column requests_per_minute integer check (requests_per_minute > 0);
alter table provider_account add column tokens_per_minute integer check (tokens_per_minute > 0);
alter table provider_account add column concurrency integer check (concurrency > 0);
-- By our id of a model, the provider's name for it. Null: it serves every model, under our names.
alter table provider_account add column models jsonb
    check (jsonb_typeof(models) = 'object' and not jsonb_path_exists(models, '$.* ? (@.type() != "string")'));
-- What it costs us, as a part of the list price.
alter table provider_account add column cost_multiplier numeric(14, 6) not null default 1 check (cost_multiplier >= 0);
alter table provider_account add column state text not null default 'active'
    check (state in ('active', 'paused', 'draining'));
-- Taken out by ourselves, because its key was refused; `state` is the operator's word, and stays as it is.
alter table provider_account add column suspended_at timestamptz;
alter table provider_account add column suspended_because text check (char_length(suspended_because) between 1 and 200);
alter table provider_account add check ((suspended_at is null) = (suspended_because is null));

-- Many calls may hear of a refused key at once: the first takes the account out, on the record, and nodes hear of it
-- once.
create function suspend_provider_account(p_id integer, p_because text) returns void
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    account_name text;
begin
    select name into account_name from provider_account where id = p_id and suspended_at is null for update;
    if not found then
        return;
    end if;
    update provider_account set suspended_at = ledger_now(), suspended_because = p_because where id = p_id;
    perform append_audit(replace(current_setting('role'), 'tollkeeper_', ''), 'provider.suspend',
                         'provider_account:' || account_name, jsonb_build_object('because', p_because));
end $$;

-- The account's name where it was suspended until now. Whoever lifts a suspension puts it on the record.
create function lift_suspension(p_id integer) returns text
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    account_name text;
begin
    select name into account_name from provider_account where id = p_id and suspended_at is not null for update;
    if found then
        update provider_account set suspended_at = null, suspended_because = null where id = p_id;
    end if;
    return account_name;
end $$;

-- Grants -----------------------------------------------------------------------------------------------------------
grant execute on function suspend_provider_account(integer, text) to tollkeeper_gateway, tollkeeper_worker;
grant execute on function lift_suspension(integer) to tollkeeper_console, tollkeeper_worker;
-- For reading the newest part of the usage log and no more of it.
grant execute on function uuid_floor(timestamptz) to tollkeeper_console;
grant update (tier, weight, requests_per_minute, tokens_per_minute, concurrency, models, cost_multiplier, state)
    on provider_account to tollkeeper_console;
