-- Prices that change and are announced, and the notices of lots and balances.
--
-- Rules of this schema
-- 1. A price comes into the book by enter_price alone, which announces it by the same act. What it says never changes; it
--    may be withdrawn before it takes effect, and stays in the book as withdrawn.
-- 2. A change takes effect after its notice, or, forced, after the few seconds in which every node learns of it. None
--    takes effect in the past.
-- 3. Each notice is given once: a row of `notice`, and with it one mail in the outbox.
-- 4. Each call of a function for the worker does a bounded piece of work, and two of them at once do two pieces.

-- The price book -----------------------------------------------------------------------------------------------------
alter table price add column entered_by text;
alter table price add column forced_because text check (char_length(forced_because) between 1 and 500);
alter table price add column withdrawn_at timestamptz;
alter table price add column withdrawn_by text;
alter table price add column withdraw_reason text check (char_length(withdraw_reason) between 1 and 500);
alter table price add check (num_nulls(withdrawn_at, withdrawn_by, withdraw_reason) in (0, 3));
alter table price add check (withdrawn_at < effective_from);
-- Another may stand where one was withdrawn.
alter table price drop constraint price_model_id_variant_effective_from_key;
create unique index price_in_the_book on price (model_id, variant, effective_from) where withdrawn_at is null;
create index price_by_model on price (model_id, variant, effective_from);

-- How far the mails of a change have come.
create table price_announcement (
    price_id     bigint primary key references price,
    -- Who used the model until then has been told.
    looked_until timestamptz not null,
    done_at      timestamptz
);
create index price_announcement_open on price_announcement (price_id) where done_at is null;

-- The time now, not that at which a transaction began that has waited since.
create function ledger_clock() returns timestamptz
language sql volatile
return ledger_now() + (clock_timestamp() - now());

-- Nodes go by what they read less than two seconds ago: nothing may take effect before all of them know.
create function time_to_tell_nodes() returns interval
language sql immutable
return interval '5 s';

-- What is not said (null) stays as it is. Verdicts: entered, unknown_model, no_figures, too_soon, taken. `effective` is
-- from when it holds; where that was too soon, the earliest that was possible; `booked` what is in the book now. What has
-- no price yet needs no notice, and the prices of a model that is added just now hold from when its author says.
create function enter_price(
    p_model text, p_variant text, p_multiplier numeric, p_completion numeric, p_cached numeric, p_from timestamptz,
    p_notice interval, p_forced_because text, p_actor text,
    out verdict text, out booked price, out effective timestamptz)
language plpgsql security definer set search_path = tollkeeper, pg_temp set timezone = 'UTC'
as $$
declare
    of_model model;
    before price;
    is_new boolean;
    is_first boolean;
    this_moment timestamptz;
    earliest timestamptz;
begin
    select * into of_model from model where id = p_model and retired_at is null for no key update;
    if not found then
        verdict := 'unknown_model';
        return;
    end if;
    -- The wait for the audit trail comes before the look at the clock, not between it and the commit.
    perform pg_advisory_xact_lock(hashtext('tollkeeper.audit'));
    this_moment := ledger_clock();
    -- A model that is added just now has all its prices for the first time.
    is_new := of_model.introduced_at = ledger_now();
    is_first := is_new or not exists (
        select from price p where p.model_id = p_model and p.variant = p_variant and p.withdrawn_at is null);
    if is_new then
        earliest := ledger_now();
    elsif is_first then
        earliest := this_moment;
    else
        earliest := this_moment + greatest(
            case when p_forced_because is null then p_notice else interval '0' end, time_to_tell_nodes());
    end if;
    effective := coalesce(p_from, earliest);
    if not is_new and effective < earliest then
        verdict := 'too_soon';
        effective := earliest;
        return;
    end if;
    if exists (select from price p where p.model_id = p_model and p.variant = p_variant
               and p.effective_from = effective and p.withdrawn_at is null) then
        verdict := 'taken';
        return;
    end if;
    select * into before from price p
    where p.model_id = p_model and p.variant = p_variant and p.effective_from < effective and p.withdrawn_at is null
    order by p.effective_from desc limit 1;
    if coalesce(p_multiplier, before.model_multiplier) is null then
        verdict := 'no_figures';
        return;
    end if;
    insert into price (model_id, variant, effective_from, model_multiplier, completion_multiplier, cached_multiplier,
                       entered_by, forced_because)
    values (p_model, p_variant, effective, coalesce(p_multiplier, before.model_multiplier),
            coalesce(p_completion, before.completion_multiplier, 1), coalesce(p_cached, before.cached_multiplier, 1),
            p_actor, p_forced_because)
    returning * into booked;
    verdict := 'entered';
    if not is_first then
        insert into price_announcement (price_id, looked_until) values (booked.id, ledger_now() - interval '30 days');
    end if;
    -- The prices of a new model are told with it.
    if not is_new then
        perform append_audit(p_actor, 'price.enter', 'price:' || booked.id, jsonb_build_object(
            'model', p_model, 'variant', p_variant, 'from', effective, 'multiplier', p_multiplier,
            'completion', p_completion, 'cached', p_cached, 'forced', p_forced_because));
    end if;
end $$;

-- Verdicts: withdrawn, unknown, withdrawn_before, in_force (or so soon that nodes might not hear of it in time).
create function withdraw_price(p_price bigint, p_reason text, p_actor text) returns text
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    found_price price;
begin
    select * into found_price from price where id = p_price for update;
    if not found then
        return 'unknown';
    end if;
    perform pg_advisory_xact_lock(hashtext('tollkeeper.audit'));
    if found_price.withdrawn_at is not null then
        return 'withdrawn_before';
    end if;
    if found_price.effective_from < ledger_clock() + time_to_tell_nodes() then
        return 'in_force';
    end if;
    update price set withdrawn_at = ledger_now(), withdrawn_by = p_actor, withdraw_reason = p_reason
    where id = p_price;
    -- Whoever was told of it is told of this.
    update price_announcement set done_at = null where price_id = p_price;
    perform append_audit(p_actor, 'price.withdraw', 'price:' || p_price, jsonb_build_object('reason', p_reason));
    return 'withdrawn';
end $$;

-- Notices ------------------------------------------------------------------------------------------------------------
create table notice (
    account_id bigint not null references account,
    kind       text not null check (kind in ('price_change', 'price_withdrawn', 'lot_expiring', 'low_balance')),
    -- A price; a lot; of a low balance, the newest lot there was.
    subject    bigint not null,
    -- Of a lot, which notice for which end: one that is extended has another.
    occasion   text not null default '',
    -- What there was when it was said to be low.
    balance    bigint,
    at         timestamptz not null default ledger_now(),
    primary key (account_id, kind, subject, occasion),
    check ((kind = 'low_balance') = (balance is not null))
);
create index notice_of_price on notice (subject, account_id) where kind in ('price_change', 'price_withdrawn');

alter table outbox drop constraint outbox_kind_check;
alter table outbox add constraint outbox_kind_check check (kind in (
    'sign_up', 'reset', 'password_changed', 'second_factor_on', 'second_factor_off',
    'price_change', 'price_withdrawn', 'lot_expiring', 'low_balance'));
-- The figures that a mail names; never anything that a stranger could choose.
alter table outbox add column figures jsonb check (jsonb_typeof(figures) = 'object');
alter table outbox add check ((figures is not null) =
    (kind in ('price_change', 'price_withdrawn', 'lot_expiring', 'low_balance')));
-- Somebody waits for a link; nobody waits for a notice, of which there may be very many at once.
create index outbox_by_urgency on outbox ((figures is not null), next_try_at)
    where sent_at is null and given_up_at is null;

-- How far each kind of notice has come. What lies before it when this begins is left alone: nobody is flooded.
create table notice_cursor (
    kind   text primary key,
    up_to  timestamptz not null,
    lot_id bigint not null default 0
);
insert into notice_cursor (kind, up_to) values
    ('lot_30', ledger_now() + interval '30 days'),
    ('lot_7', ledger_now() + interval '7 days'),
    ('lot_1', ledger_now() + interval '1 day'),
    ('low_balance', ledger_now()),
    ('low_balance_late', ledger_now());

-- Mails of price changes, one piece: those who used the model in one hour of the 30 days before it was announced, or
-- `p_most` of those to be told that it was withdrawn. How many mails that makes; null where nothing is left to do.
create function announce_prices(p_most integer) returns integer
language plpgsql security definer set search_path = tollkeeper, pg_temp set timezone = 'UTC'
as $$
declare
    due record;
    before price;
    next_edge timestamptz;
    words jsonb;
    told integer;
begin
    select a.looked_until, p.* into due
    from price_announcement a join price p on p.id = a.price_id
    where a.done_at is null order by a.price_id limit 1 for update of a skip locked;
    if not found then
        return null;
    end if;
    select * into before from price p
    where p.model_id = due.model_id and p.variant = due.variant and p.effective_from < due.effective_from
      and p.withdrawn_at is null
    order by p.effective_from desc limit 1;
    words := jsonb_build_object(
        'model', due.model_id || case when due.variant = '' then '' else ' (' || due.variant || ')' end,
        'from', to_char(due.effective_from, 'YYYY-MM-DD HH24:MI:SS'),
        'old_model', trim_scale(before.model_multiplier)::text, 'new_model', trim_scale(due.model_multiplier)::text,
        'old_completion', trim_scale(before.completion_multiplier)::text,
        'new_completion', trim_scale(due.completion_multiplier)::text,
        'old_cached', trim_scale(before.cached_multiplier)::text,
        'new_cached', trim_scale(due.cached_multiplier)::text);
    if due.withdrawn_at is not null then
        with told_now as (
            insert into notice (account_id, kind, subject)
            select n.account_id, 'price_withdrawn', due.id from notice n
            where n.subject = due.id and n.kind = 'price_change' and not exists (
                select from notice w where w.account_id = n.account_id and w.kind = 'price_withdrawn' and w.subject = due.id)
            order by n.account_id limit p_most
            on conflict do nothing returning account_id)
        insert into outbox (kind, email, figures)
        select 'price_withdrawn', l.email, words from told_now join login l using (account_id);
        get diagnostics told = row_count;
        update price_announcement set done_at = ledger_now() where price_id = due.id and told < p_most;
        return told;
    end if;
    next_edge := least(due.looked_until + interval '1 hour', due.announced_at + interval '1 s');
    with used as (
        select distinct u.account_id from usage u
        where u.request_id >= uuid_floor(due.looked_until) and u.request_id < uuid_floor(next_edge)
          and u.price_id in (select p.id from price p where p.model_id = due.model_id and p.variant = due.variant)),
    told_now as (
        insert into notice (account_id, kind, subject)
        select used.account_id, 'price_change', due.id
        from used join login l on l.account_id = used.account_id join account a on a.id = used.account_id
        where a.disabled_at is null
        on conflict do nothing returning account_id)
    insert into outbox (kind, email, figures)
    select 'price_change', l.email, words from told_now join login l using (account_id);
    get diagnostics told = row_count;
    update price_announcement
    set looked_until = next_edge, done_at = case when next_edge > due.announced_at then ledger_now() end
    where price_id = due.id;
    return told;
end $$;

-- Mails of lots that expire within `p_days`, of which nothing was said yet: one piece of `p_most` lots. Lots of a key (the
-- faucet's) and rests that would show as nothing are passed over, and so is what is due for the next notice already.
create function notice_expiring(p_days integer, p_most integer, out told integer, out more boolean)
language plpgsql security definer set search_path = tollkeeper, pg_temp set timezone = 'UTC'
as $$
declare
    here notice_cursor;
    edge timestamptz := ledger_now() + make_interval(days => p_days);
    next_notice timestamptz := ledger_now() + make_interval(days => case p_days when 30 then 7 when 7 then 1 else 0 end);
    seen integer;
    last_expiry timestamptz;
    last_lot bigint;
    to_tell bigint[];
begin
    told := 0;
    more := false;
    select * into here from notice_cursor where kind = 'lot_' || p_days for update skip locked;
    if not found then
        return;
    end if;
    with passed as materialized (
        select l.id, l.remaining, l.key_id, l.expires_at from lot l
        where l.closed_at is null and l.expires_at >= here.up_to and l.expires_at <= edge
          and (l.expires_at, l.id) > (here.up_to, here.lot_id)
        order by l.expires_at, l.id limit p_most)
    select count(*), (array_agg(expires_at order by expires_at desc, id desc))[1],
           (array_agg(id order by expires_at desc, id desc))[1],
           coalesce(array_agg(id) filter (
               where remaining >= 500000000 and key_id is null and expires_at > next_notice), '{}')
    into seen, last_expiry, last_lot, to_tell from passed;
    with told_now as (
        insert into notice (account_id, kind, subject, occasion)
        select l.account_id, 'lot_expiring', l.id, p_days || ' days before ' || to_char(l.expires_at, 'YYYY-MM-DD HH24:MI:SS.US')
        from lot l join account a on a.id = l.account_id
        where l.id = any (to_tell) and a.disabled_at is null
          and exists (select from login where login.account_id = l.account_id)
        on conflict do nothing returning subject)
    insert into outbox (kind, email, figures)
    select 'lot_expiring', o.email,
           jsonb_build_object('amount', l.remaining, 'at', to_char(l.expires_at, 'YYYY-MM-DD HH24:MI'))
    from told_now t join lot l on l.id = t.subject join login o on o.account_id = l.account_id;
    get diagnostics told = row_count;
    more := seen = p_most;
    update notice_cursor
    set up_to = case when more then last_expiry else greatest(edge, here.up_to) end,
        lot_id = case when more then last_lot when edge > here.up_to then 0 else here.lot_id end
    where kind = here.kind;
end $$;

-- Mails to accounts whose quota fell below `p_threshold`, once for each time that it was above it: one piece of at most ten
-- minutes of calls. Calls are filed by when they began; p_late looks once more at those that took up to eleven minutes.
create function notice_low_balances(p_late boolean, p_threshold bigint, out told integer, out more boolean)
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
        select a.account_id, lots.newest, (lots.remaining + b.held - b.debt)::bigint as balance
        from active a
        join account on account.id = a.account_id and account.disabled_at is null
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
        where lots.remaining + b.held - b.debt < p_threshold
          -- With what has come since, it must have been above once more.
          and coalesce(said.balance, 0) + lots.came >= p_threshold
          and exists (select from login where login.account_id = a.account_id)),
    told_now as (
        insert into notice (account_id, kind, subject, balance)
        select account_id, 'low_balance', newest, balance from low
        on conflict do nothing returning account_id, balance)
    insert into outbox (kind, email, figures)
    select 'low_balance', l.email, jsonb_build_object('amount', t.balance, 'threshold', p_threshold)
    from told_now t join login l using (account_id);
    get diagnostics told = row_count;
    more := until < edge;
    update notice_cursor set up_to = until where kind = here.kind;
end $$;

-- Grants -------------------------------------------------------------------------------------------------------------
revoke insert on price from tollkeeper_console;
grant execute on function
    enter_price(text, text, numeric, numeric, numeric, timestamptz, interval, text, text),
    withdraw_price(bigint, text, text) to tollkeeper_console;
grant execute on function announce_prices(integer), notice_expiring(integer, integer),
    notice_low_balances(boolean, bigint) to tollkeeper_worker;
grant select on price_announcement, notice, notice_cursor to tollkeeper_console, tollkeeper_worker;
