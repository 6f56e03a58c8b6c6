-- Limits: what a group's accounts may call in a minute, their time at peak, and what becomes of abuse.
--
-- An IP is written as text: an IPv4 address, or the /64 network of an IPv6 one.

-- The rates of groups: calls in any 60 seconds; null: no limit -------------------------------------------------------
alter table account_group add column key_rate integer default 60 check (key_rate > 0);
-- Of an account, for each kind of model; peak is that percentage of it.
alter table account_group add column standard_rate integer default 60 check (standard_rate > 0);
alter table account_group add column peak_percent integer not null default 200
    check (peak_percent between 100 and 1000);
-- By kind, and by model, the standard rate where it is another one.
alter table account_group add column kind_rates jsonb not null default '{}'
    check (jsonb_typeof(kind_rates) = 'object'
        and not jsonb_path_exists(kind_rates, '$.* ? (@.type() != "number" || @ < 1 || @.floor() != @)'));
alter table account_group add column model_rates jsonb not null default '{}'
    check (jsonb_typeof(model_rates) = 'object'
        and not jsonb_path_exists(model_rates, '$.* ? (@.type() != "number" || @ < 1 || @.floor() != @)'));
alter table account_group add column tokens_per_minute integer check (tokens_per_minute > 0);
alter table account_group add column concurrency integer check (concurrency > 0);
update account_group set standard_rate = 30, peak_percent = 100 where name = 'restricted';
grant insert, update (multiplier, key_rate, standard_rate, peak_percent, kind_rates, model_rates, tokens_per_minute,
    concurrency) on account_group to tollkeeper_console;

-- `tollkeeper work` lives as a worker too, but has no share of the calls.
alter table worker add column serves boolean not null default true;
grant insert (serves) on worker to tollkeeper_gateway, tollkeeper_worker;

-- Time at peak -------------------------------------------------------------------------------------------------------
create table peak_minute (
    account_id   bigint not null references account,
    minute       timestamptz not null,
    -- Empty where it is not known, or is one of our own proxies.
    ip           text not null check (char_length(ip) <= 64),
    milliseconds integer not null check (milliseconds > 0),
    primary key (account_id, minute, ip)
);
create index peak_minute_by_time on peak_minute (minute);

-- What a gateway saw since it told last. Rows are sorted, so that two gateways never wait for each other in a circle.
create function note_peak(p_account bigint[], p_ip text[], p_milliseconds integer[]) returns void
language sql security definer set search_path = tollkeeper, pg_temp
as $$
    insert into peak_minute (account_id, minute, ip, milliseconds)
    select account_id, date_trunc('minute', ledger_now()), left(ip, 64), least(sum(milliseconds), 1000000)
    from unnest(p_account, p_ip, p_milliseconds) seen (account_id, ip, milliseconds)
    where exists (select from account where id = account_id)
    group by account_id, left(ip, 64) order by account_id, left(ip, 64)
    on conflict (account_id, minute, ip) do update
    set milliseconds = least(peak_minute.milliseconds::bigint + excluded.milliseconds, 1000000)
$$;

-- Restrictions -------------------------------------------------------------------------------------------------------
create table restriction (
    id             bigint generated always as identity primary key,
    account_id     bigint not null references account,
    began_at       timestamptz not null default ledger_now(),
    until          timestamptz not null check (until > began_at),
    -- What was counted: seconds at peak, within how many.
    peak_seconds   integer not null,
    within_seconds integer not null,
    ip             text not null,
    lifted_at      timestamptz,
    lifted_by      text,
    lift_reason    text check (char_length(lift_reason) between 1 and 500),
    check ((lifted_at is null) = (lifted_by is null) and (lifted_at is null) = (lift_reason is null))
);
create index restriction_by_account on restriction (account_id, began_at);
create index restriction_by_time on restriction (began_at);
-- The end of the restriction in force, beside what every call knows of its account.
alter table account add column restricted_until timestamptz;

create function restrict_account(
    p_account bigint, p_seconds integer, p_peak_seconds integer, p_within_seconds integer, p_ip text) returns bigint
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    fresh restriction;
begin
    perform from account where id = p_account for no key update;
    if exists (select from restriction
               where account_id = p_account and until > ledger_now() and lifted_at is null) then
        return null;
    end if;
    insert into restriction (account_id, until, peak_seconds, within_seconds, ip)
    values (p_account, ledger_now() + make_interval(secs => p_seconds), p_peak_seconds, p_within_seconds, p_ip)
    returning * into fresh;
    update account set restricted_until = fresh.until where id = p_account;
    perform append_audit('abuse control', 'account.restrict', 'account:' || p_account, jsonb_build_object(
        'restriction', fresh.id, 'until', fresh.until, 'peak_seconds', p_peak_seconds,
        'within_seconds', p_within_seconds));
    return fresh.id;
end $$;

-- Bans ---------------------------------------------------------------------------------------------------------------
create table ban (
    id             bigint generated always as identity primary key,
    ip             text not null check (char_length(ip) between 1 and 64),
    began_at       timestamptz not null default ledger_now(),
    until          timestamptz not null check (until > began_at),
    why            text not null check (why in ('invalid_calls', 'peak', 'operator')),
    -- What was counted: invalid calls, or seconds at peak; for an operator's ban, the reason.
    counted        jsonb not null check (jsonb_typeof(counted) = 'object'),
    account_id     bigint references account,
    lifted_at      timestamptz,
    lifted_by      text,
    lift_reason    text check (char_length(lift_reason) between 1 and 500),
    check ((lifted_at is null) = (lifted_by is null) and (lifted_at is null) = (lift_reason is null))
);
create index ban_by_ip on ban (ip, began_at);
create index ban_by_end on ban (until);

alter table change drop constraint change_kind_check;
alter table change add constraint change_kind_check check (kind in ('key', 'account', 'catalog', 'pool', 'ban'));
-- Which ban it was is told: there may be very many, and nodes read only those that changed.
create trigger tell_of_insert after insert on ban
    referencing new table as gone for each statement execute function record_rows('ban');
create trigger tell_of_update after update on ban
    referencing old table as gone for each statement execute function record_rows('ban');
create trigger tell_of_delete after delete on ban
    referencing old table as gone for each statement execute function record_rows('ban');

-- Several nodes may see an IP cross the line at once: the first bans it. Null where it is banned already. Only the
-- console acts for somebody; everything else is the doing of abuse control.
create function ban_ip(
    p_ip text, p_seconds integer, p_why text, p_counted jsonb, p_account bigint, p_actor text) returns timestamptz
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    fresh ban;
begin
    perform pg_advisory_xact_lock(hashtext('tollkeeper.ban'), hashtext(p_ip));
    if exists (select from ban where ip = p_ip and until > ledger_now() and lifted_at is null) then
        return null;
    end if;
    insert into ban (ip, until, why, counted, account_id)
    values (p_ip, ledger_now() + make_interval(secs => p_seconds), p_why, p_counted, p_account)
    returning * into fresh;
    perform append_audit(
        case current_setting('role') when 'tollkeeper_console' then p_actor else 'abuse control' end,
        'ip.ban', 'ip:' || p_ip,
        jsonb_build_object('ban', fresh.id, 'until', fresh.until, 'why', p_why, 'counted', p_counted));
    return fresh.until;
end $$;

-- Grants -------------------------------------------------------------------------------------------------------------
grant select on ban to tollkeeper_gateway, tollkeeper_console, tollkeeper_worker;
grant select on peak_minute, restriction to tollkeeper_console, tollkeeper_worker;
grant execute on function note_peak(bigint[], text[], integer[]) to tollkeeper_gateway;
grant execute on function ban_ip(text, integer, text, jsonb, bigint, text)
    to tollkeeper_gateway, tollkeeper_console, tollkeeper_worker;
grant execute on function restrict_account(bigint, integer, integer, integer, text) to tollkeeper_worker;
grant delete on peak_minute to tollkeeper_worker;
grant update (lifted_at, lifted_by, lift_reason) on ban, restriction to tollkeeper_console;
grant update (restricted_until) on account to tollkeeper_console;
