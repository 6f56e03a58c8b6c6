-- Where events are told. The secrets are sealed as provider keys are; the former one signs, too, for a day.
create table webhook (
    id               bigint generated always as identity primary key,
    url              text not null check (char_length(url) between 1 and 2000),
    note             text not null default '' check (char_length(note) <= 200),
    kinds            text[] not null check (cardinality(kinds) between 1 and 50),
    secret_sealed    bytea not null,
    former_sealed    bytea,
    former_until     timestamptz,
    created_at       timestamptz not null default ledger_now(),
    created_by       text not null,
    -- Since when nothing was taken.
    failing_since    timestamptz,
    disabled_at      timestamptz,
    disabled_because text,
    check ((disabled_at is null) = (disabled_because is null)),
    check ((former_sealed is null) = (former_until is null))
);
create table webhook_event (
    id   uuid primary key default gen_random_uuid(),
    kind text not null check (char_length(kind) between 1 and 64),
    -- Numbers, names and times; never content of a call, and no secret.
    data jsonb not null check (jsonb_typeof(data) = 'object' and octet_length(data::text) <= 8000),
    at   timestamptz not null default ledger_now()
);
create index webhook_event_by_age on webhook_event (at);
-- An event on its way to one webhook (an outbox).
create table webhook_delivery (
    id           bigint generated always as identity primary key,
    webhook_id   bigint not null references webhook on delete cascade,
    event_id     uuid not null references webhook_event on delete cascade,
    attempts     integer not null default 0,
    next_try_at  timestamptz not null default ledger_now(),
    last_try_at  timestamptz,
    last_status  integer,
    last_error   text,
    delivered_at timestamptz,
    given_up_at  timestamptz,
    unique (event_id, webhook_id)
);
create index webhook_delivery_due on webhook_delivery (webhook_id, next_try_at)
    where delivered_at is null and given_up_at is null;
create index webhook_delivery_listed on webhook_delivery (webhook_id, id);

-- Which keys were told of, for which day or month.
create table key_budget_notice (
    key_id bigint not null references api_key,
    period text not null check (period in ('day', 'month')),
    begins date not null,
    primary key (key_id, period, begins)
);
create index api_key_with_budget on api_key (id) where daily_budget is not null or monthly_budget is not null;

-- An event, for every webhook that wants its kind: in the transaction in which it happened, so that none is lost and none
-- told that did not happen. Where nobody wants it, nothing is written. A webhook that is just being removed is passed over.
create or replace function emit_event(p_kind text, p_data jsonb) returns void
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    wanted bigint[];
    fresh uuid;
begin
    select array_agg(id) into wanted from (
        select id from webhook where disabled_at is null and p_kind = any (kinds) for key share skip locked) w;
    if wanted is null then
        return;
    end if;
    insert into webhook_event (kind, data) values (p_kind, p_data) returning id into fresh;
    insert into webhook_delivery (webhook_id, event_id) select id, fresh from unnest(wanted) id;
end $$;

-- Of a row that came or changed: the event of that kind (the first argument) with some of its columns (the others, each
-- under its own name or, behind a colon, another).
create or replace function tell_webhooks() returns trigger
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    columns jsonb := to_jsonb(new);
begin
    perform emit_event(tg_argv[0], (
        select jsonb_object_agg(split_part(named || ':' || named, ':', 2), columns -> split_part(named, ':', 1))
        from unnest(tg_argv[1:]) named));
    return null;
end $$;

create or replace function tell_webhooks_of_price() returns trigger
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
begin
    perform emit_event('price.announced', jsonb_build_object(
        'price', p.id, 'model', p.model_id, 'variant', p.variant, 'effective_from', p.effective_from,
        'model_multiplier', trim_scale(p.model_multiplier)::text,
        'completion_multiplier', trim_scale(p.completion_multiplier)::text,
        'cached_multiplier', trim_scale(p.cached_multiplier)::text))
    from price p where p.id = new.price_id;
    return null;
end $$;

-- Events of keys that used so many percent of their budget: once for each key and day, or month. How many there were.
-- Where no webhook wants to know, nothing is looked at.
create or replace function notice_key_budgets(p_percent integer) returns integer
language plpgsql security definer set search_path = tollkeeper, pg_temp set timezone = 'UTC'
as $$
declare
    today date := ledger_now()::date;
    this_month date := date_trunc('month', ledger_now())::date;
    near record;
    told integer := 0;
begin
    if not exists (select from webhook where disabled_at is null and 'key.budget_near' = any (kinds)) then
        return 0;
    end if;
    for near in
        with close_to as (
            select k.id, k.account_id, k.name, p.*
            from api_key k join key_books b on b.key_id = k.id
            cross join lateral (values
                ('day', today, k.daily_budget, case when b.day >= today then b.day_total else 0 end),
                ('month', this_month, k.monthly_budget, case when b.day >= this_month then b.month_total else 0 end)
            ) p (period, begins, budget, used)
            where (k.daily_budget is not null or k.monthly_budget is not null) and k.revoked_at is null
              and b.day >= this_month and p.budget > 0 and p.used * 100 >= p.budget::numeric * p_percent),
        fresh as (
            insert into key_budget_notice (key_id, period, begins) select id, period, begins from close_to
            on conflict do nothing returning key_id, period)
        select c.* from close_to c join fresh f on f.key_id = c.id and f.period = c.period
    loop
        perform emit_event('key.budget_near', jsonb_build_object(
            'key', near.id, 'key_name', near.name, 'account', near.account_id, 'period', near.period,
            'used_micro_quota', near.used, 'budget_micro_quota', near.budget));
        told := told + 1;
    end loop;
    delete from key_budget_notice where begins < this_month - 40;
    return told;
end $$;

-- An event that says nothing, for one webhook: its delivery. Null where there is no such webhook, or it is switched off.
create or replace function send_test_event(p_webhook bigint, p_actor text) returns bigint
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    fresh uuid;
    delivery bigint;
begin
    perform from webhook where id = p_webhook and disabled_at is null for key share;
    if not found then
        return null;
    end if;
    insert into webhook_event (kind, data)
    values ('webhook.test', jsonb_build_object('webhook', p_webhook)) returning id into fresh;
    insert into webhook_delivery (webhook_id, event_id) values (p_webhook, fresh) returning id into delivery;
    perform append_audit(p_actor, 'webhook.test', 'webhook:' || p_webhook, jsonb_build_object('delivery', delivery));
    return delivery;
end $$;

-- What came of an attempt. `p_error` is null where it was taken; else it is tried again after `p_wait`, or never where that
-- is null. A webhook is switched off where its receiver said that it is gone, or took nothing for `p_patience`: then it
-- says why, and the audit trail too.
create or replace function note_delivery(
    p_delivery bigint, p_attempt integer, p_status integer, p_error text, p_wait interval, p_gone boolean,
    p_patience interval, out switched_off boolean)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    receiver webhook;
    why text;
begin
    switched_off := false;
    -- A claim that ran out may be another's by now; but what was taken was taken.
    update webhook_delivery set
        last_status = p_status, last_error = left(p_error, 200), last_try_at = ledger_now(),
        delivered_at = case when p_error is null then ledger_now() end,
        given_up_at = case when p_error is not null and p_wait is null then ledger_now() end,
        next_try_at = case when p_error is null then next_try_at else ledger_now() + coalesce(p_wait, interval '0') end
    where id = p_delivery and delivered_at is null and (attempts = p_attempt or p_error is null);
    select w.* into receiver from webhook w join webhook_delivery d on d.webhook_id = w.id
    where d.id = p_delivery for no key update of w;
    if not found then
        return;
    end if;
    if p_error is null then
        update webhook set failing_since = null where id = receiver.id and failing_since is not null;
        return;
    end if;
    if receiver.failing_since is null then
        update webhook set failing_since = ledger_now() where id = receiver.id returning * into receiver;
    end if;
    why := case when p_gone then 'its receiver answered 410 (gone)'
                when receiver.failing_since < ledger_now() - p_patience
                    then 'its receiver took nothing for ' || extract(day from p_patience) || ' days' end;
    if why is not null and receiver.disabled_at is null then
        update webhook set disabled_at = ledger_now(), disabled_because = why where id = receiver.id;
        perform append_audit('worker', 'webhook.switch_off', 'webhook:' || receiver.id, jsonb_build_object('why', why));
        switched_off := true;
    end if;
end $$;

-- Notices of accounts whose quota fell below what they chose, or `p_threshold`, once for each time that it was above it: one
-- piece of at most ten minutes of calls. Whoever has a login and wants it has a mail; `told` counts the mails. Calls are filed by when they began; p_late looks once more at those that took up to eleven minutes.
create or replace function notice_low_balances(p_late boolean, p_threshold bigint, out told integer, out more boolean)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    here notice_cursor;
    edge timestamptz := ledger_now() - case when p_late then interval '11 minutes' else interval '0' end;
    since timestamptz;
    until timestamptz;
begin
    told := 0;
    more := false;
    select * into here from notice_cursor
    where kind = case when p_late then 'low_balance_late' else 'low_balance' end for update skip locked;
    if not found or here.up_to >= edge then
        return;
    end if;
    since := greatest(here.up_to, edge - interval '1 day');
    until := least(since + interval '10 minutes', edge);
    with active as (
        select distinct u.account_id from usage u
        where u.request_id >= uuid_floor(since) and u.request_id < uuid_floor(until)),
    low as (
        select a.account_id, lots.newest, (lots.remaining + b.held - b.debt)::bigint as balance, wish.threshold,
               coalesce(c.low_balance, true) as wants_mail
        from active a
        join account on account.id = a.account_id and account.disabled_at is null
        left join notice_choice c on c.account_id = a.account_id
        cross join lateral (select coalesce(c.low_balance_below, p_threshold) as threshold) wish
        join account_books b on b.account_id = a.account_id
        left join lateral (
            select n.at, n.balance from notice n where n.account_id = a.account_id and n.kind = 'low_balance'
            order by n.at desc limit 1) said on true
        cross join lateral (
            select coalesce(sum(l.remaining) filter (where l.closed_at is null and l.expires_at > ledger_now()), 0)
                       as remaining,
                   coalesce(sum(l.granted) filter (where said.at is null or l.created_at > said.at), 0) as came,
                   max(l.id) as newest
            from lot l where l.account_id = a.account_id and l.key_id is null) lots
        where lots.remaining + b.held - b.debt < wish.threshold
          -- With what has come since, it must have been above once more.
          and coalesce(said.balance, 0) + lots.came >= wish.threshold),
    told_now as (
        insert into notice (account_id, kind, subject, balance)
        select account_id, 'low_balance', newest, balance from low
        on conflict do nothing returning account_id, balance)
    insert into outbox (kind, email, figures)
    select 'low_balance', l.email, jsonb_build_object('amount', t.balance, 'threshold', low.threshold)
    from told_now t join low using (account_id) join login l using (account_id) where low.wants_mail;
    get diagnostics told = row_count;
    more := until < edge;
    update notice_cursor set up_to = until where kind = here.kind;
end $$;

create trigger tell_webhooks after insert on restriction for each row
    execute function tell_webhooks('account.restricted', 'account_id:account', 'id:restriction', 'began_at', 'until',
                                   'peak_seconds', 'within_seconds', 'began_by', 'reason');
create trigger tell_webhooks after insert on ban for each row
    execute function tell_webhooks('client.banned', 'id:ban', 'ip', 'account_id:account', 'began_at', 'until', 'why');
create trigger tell_webhooks after update of disabled_at on account for each row
    when (old.disabled_at is null and new.disabled_at is not null and new.closed_at is null)
    execute function tell_webhooks('account.disabled', 'id:account', 'disabled_at');
create trigger tell_webhooks after update of suspended_at on provider_account for each row
    when (old.suspended_at is null and new.suspended_at is not null)
    execute function tell_webhooks('provider.out', 'id:provider_account', 'name', 'suspended_at', 'suspended_because:because');
-- Once when they stop being clean, not with every check that finds the same.
create trigger tell_webhooks after update of judged_at on job for each row
    when (new.name = 'check_books' and not new.judged_well and new.judged_at is distinct from old.judged_at
          and old.judged_well is distinct from false)
    execute function tell_webhooks('books.not_clean', 'judged_at:checked_at', 'outcome');
create trigger tell_webhooks after insert on notice for each row when (new.kind = 'low_balance')
    execute function tell_webhooks('account.balance_low', 'account_id:account', 'balance:balance_micro_quota', 'at');
create trigger tell_webhooks after insert on price_announcement for each row
    execute function tell_webhooks_of_price();

grant select on webhook, webhook_event, webhook_delivery to tollkeeper_console, tollkeeper_worker;
grant delete on webhook to tollkeeper_console;
grant insert (url, note, kinds, secret_sealed, created_by) on webhook to tollkeeper_console;
grant update (url, note, kinds, secret_sealed, former_sealed, former_until, failing_since, disabled_at, disabled_because)
    on webhook to tollkeeper_console;
grant update (attempts, next_try_at, delivered_at, given_up_at) on webhook_delivery to tollkeeper_console;
grant update (attempts, next_try_at, given_up_at) on webhook_delivery to tollkeeper_worker;
grant delete on webhook_event to tollkeeper_worker;
grant execute on function send_test_event(bigint, text) to tollkeeper_console;
grant execute on function notice_key_budgets(integer) to tollkeeper_worker;
grant execute on function
    note_delivery(bigint, integer, integer, text, interval, boolean, interval) to tollkeeper_worker;
