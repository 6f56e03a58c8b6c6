-- E-mails that change, accounts that are closed, notices that customers choose, and announcements.
--
-- Rules of this schema
-- 1. A login has another e-mail only by a link that was sent to it. Whether that e-mail has a login is found out by the
--    mailer, as with sign-ups.
-- 2. A closed account is a disabled one that its owner closed. Its books stay as they are; what is kept of the person goes
--    after a while.

-- E-mails that change --------------------------------------------------------------------------------------------------
create table email_change (
    id           bigint generated always as identity primary key,
    account_id   bigint not null references login,
    email        text not null check (email = lower(btrim(email)) and char_length(email) between 3 and 254),
    requested_at timestamptz not null default ledger_now(),
    expires_at   timestamptz not null,
    -- Redeemed, asked for anew, or ended by a new password.
    closed_at    timestamptz
);
create index email_change_by_account on email_change (account_id);
create index email_change_by_end on email_change (expires_at);

alter table mail_token add column email_change_id bigint references email_change on delete cascade;
alter table mail_token drop constraint mail_token_purpose_check, drop constraint mail_token_check;
alter table mail_token add constraint mail_token_purpose_check check (purpose in ('verify', 'reset', 'email_change')),
    add constraint mail_token_check check (
        num_nonnulls(sign_up_id, account_id, email_change_id) = 1
        and case purpose when 'verify' then sign_up_id is not null when 'reset' then account_id is not null
                         else email_change_id is not null end);
create index mail_token_by_email_change on mail_token (email_change_id) where email_change_id is not null;

alter table outbox add column email_change_id bigint references email_change on delete cascade;
create index outbox_by_email_change on outbox (email_change_id) where email_change_id is not null;
alter table outbox add constraint outbox_email_change_check check ((kind = 'email_change') = (email_change_id is not null));
alter table outbox drop constraint outbox_kind_check;
alter table outbox add constraint outbox_kind_check check (kind in (
    'sign_up', 'reset', 'password_changed', 'second_factor_on', 'second_factor_off', 'passkey_added', 'passkey_removed',
    'email_change', 'email_change_asked', 'email_changed', 'account_closed',
    'price_change', 'price_withdrawn', 'lot_expiring', 'low_balance', 'day_spend', 'new_sign_in'));

-- Redeem a link: the login has the e-mail that was asked for, which whoever has the link can read. `p_person` is what the
-- faucet knows that e-mail's reader by. Verdicts: changed, taken (another login has it by now), over. Links that went to the
-- former e-mail are over.
create or replace function change_email(
    p_digest bytea, p_person bytea, out verdict text, out account bigint, out former text)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    asked email_change;
begin
    verdict := 'over';
    select c.account_id into account from mail_token t join email_change c on c.id = t.email_change_id
    where t.digest = p_digest;
    -- First the login, then what was asked: in the order in which a new password closes both.
    select l.email into former from login l where l.account_id = account for update;
    select c.* into asked from mail_token t join email_change c on c.id = t.email_change_id
    where t.digest = p_digest and t.expires_at > ledger_now() and c.closed_at is null
      and exists (select from account a where a.id = c.account_id and a.disabled_at is null)
    for update of c;
    if not found then
        return;
    end if;
    begin
        update login set email = asked.email, person = p_person, verified_at = ledger_now() where account_id = account;
    exception when unique_violation then
        verdict := 'taken';
        return;
    end;
    update email_change set closed_at = ledger_now() where id = asked.id;
    update mail_token set used_at = ledger_now() where account_id = account and used_at is null;
    verdict := 'changed';
end $$;

-- Accounts that are closed ---------------------------------------------------------------------------------------------
alter table account add column closed_at timestamptz,
    add constraint account_closed_check check (closed_at is null or disabled_at is not null);
create index account_by_closing on account (closed_at) where closed_at is not null;

-- What becomes of a request: approved, paid or refused. Where that was done it is the verdict. Others: decided_before,
-- not_approved (only what is approved is paid), own (of whoever decides), account_disabled, short (revoked since it was
-- asked for), unknown. Approval is the gate: what was approved can always be noted as paid, for then the money is gone. To
-- stop it there is refusing.
create or replace function decide_withdrawal(
    p_withdrawal bigint, p_state text, p_reason text, p_actor text, out verdict text)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    asked withdrawal;
begin
    perform from account_books where account_id = (select account_id from withdrawal where id = p_withdrawal) for update;
    select * into asked from withdrawal where id = p_withdrawal for update;
    verdict := case when asked.id is null then 'unknown'
                    when asked.decided_at is not null or asked.state = p_state then 'decided_before'
                    when p_state = 'refused' then 'refused'
                    when p_state = 'paid' and asked.state <> 'approved' then 'not_approved'
                    when p_actor = 'account:' || asked.account_id then 'own'
                    when p_state = 'paid' then 'paid'
                    -- What its owner asked for before closing it is still paid.
                    when (select disabled_at is not null and closed_at is null from account where id = asked.account_id)
                        then 'account_disabled'
                    when asked.usd_micros > (select s.available from cash_standing(asked.account_id) s) then 'short'
                    else p_state end;
    if verdict <> p_state then
        return;
    end if;
    if verdict = 'approved' then
        update withdrawal set state = verdict, approved_at = ledger_now(), approved_by = p_actor, approved_why = p_reason
        where id = p_withdrawal;
    else
        update withdrawal set state = verdict, decided_at = ledger_now(), decided_by = p_actor, reason = p_reason
        where id = p_withdrawal;
    end if;
    insert into cash_entry (account_id, kind, usd_micros, withdrawal_id)
    select asked.account_id, 'paid', asked.usd_micros, asked.id where verdict = 'paid';
    perform append_audit(
        p_actor, case verdict when 'approved' then 'withdrawal.approve' when 'paid' then 'withdrawal.pay'
                              else 'withdrawal.refuse' end,
        'withdrawal:' || p_withdrawal, jsonb_build_object(
            'account', asked.account_id, 'usd_micros', asked.usd_micros, 'payee', asked.payee, 'reason', p_reason));
end $$;

-- Notices that customers choose ----------------------------------------------------------------------------------------
-- Whoever has no row gets every notice but that of a day's spend.
create table notice_choice (
    account_id        bigint primary key references account,
    low_balance       boolean not null,
    -- Null: what the service goes by.
    low_balance_below bigint check (low_balance_below > 0),
    lot_expiring      boolean not null,
    price_change      boolean not null,
    new_sign_in       boolean not null,
    -- Null: none.
    day_spend_above   bigint check (day_spend_above > 0),
    changed_at        timestamptz not null default ledger_now()
);
create index notice_choice_of_spend on notice_choice (account_id) where day_spend_above is not null;

alter table notice drop constraint notice_kind_check;
alter table notice add constraint notice_kind_check check (
    kind in ('price_change', 'price_withdrawn', 'lot_expiring', 'low_balance', 'day_spend'));

alter table outbox drop constraint outbox_check1;
alter table outbox add constraint outbox_figures_by_kind check ((figures is not null) = (kind in (
    'price_change', 'price_withdrawn', 'lot_expiring', 'low_balance', 'day_spend', 'new_sign_in')));

-- Mails of price changes, one piece: those who used the model in one hour of the 30 days before it was announced, or
-- `p_most` of those to be told that it was withdrawn. How many mails that makes; null where nothing is left to do.
create or replace function announce_prices(p_most integer) returns integer
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
            select n.account_id, 'price_withdrawn', due.id from notice n join login l using (account_id)
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
        left join notice_choice c on c.account_id = used.account_id
        where a.disabled_at is null and coalesce(c.price_change, true)
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
create or replace function notice_expiring(p_days integer, p_most integer, out told integer, out more boolean)
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
        from lot l join account a on a.id = l.account_id left join notice_choice c on c.account_id = l.account_id
        where l.id = any (to_tell) and a.disabled_at is null and coalesce(c.lot_expiring, true)
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

-- Mails to accounts whose quota fell below what they chose, or `p_threshold`, once for each time that it was above it: one
-- piece of at most ten minutes of calls. Calls are filed by when they began; p_late looks once more at those that took up to eleven minutes.
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
        select a.account_id, lots.newest, (lots.remaining + b.held - b.debt)::bigint as balance, wish.threshold
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
        where lots.remaining + b.held - b.debt < wish.threshold and coalesce(c.low_balance, true)
          -- With what has come since, it must have been above once more.
          and coalesce(said.balance, 0) + lots.came >= wish.threshold
          and exists (select from login where login.account_id = a.account_id)),
    told_now as (
        insert into notice (account_id, kind, subject, balance)
        select account_id, 'low_balance', newest, balance from low
        on conflict do nothing returning account_id, balance)
    insert into outbox (kind, email, figures)
    select 'low_balance', l.email, jsonb_build_object('amount', t.balance, 'threshold', low.threshold)
    from told_now t join low using (account_id) join login l using (account_id);
    get diagnostics told = row_count;
    more := until < edge;
    update notice_cursor set up_to = until where kind = here.kind;
end $$;

-- Mails to accounts that spent more in a day (UTC) than they wanted to hear of, once for each day: yesterday and today, as far
-- as calls are added up. How many mails.
create or replace function notice_day_spend() returns integer
language plpgsql security definer set search_path = tollkeeper, pg_temp set timezone = 'UTC'
as $$
declare
    told integer;
begin
    with above as materialized (
        select c.account_id, d.day, s.spent, c.day_spend_above
        from notice_choice c
        join account a on a.id = c.account_id and a.disabled_at is null
        cross join generate_series(ledger_now()::date - 1, ledger_now()::date, interval '1 day') d (day)
        cross join lateral (
            select sum(u.charged)::bigint as spent from usage_day u
            where u.account_id = c.account_id and u.day = d.day::date) s
        -- What was before the wish is nobody's news.
        where c.day_spend_above is not null and d.day >= c.changed_at::date and s.spent > c.day_spend_above
          and exists (select from login where login.account_id = c.account_id)),
    told_now as (
        insert into notice (account_id, kind, subject)
        select account_id, 'day_spend', to_char(day, 'YYYYMMDD')::bigint from above
        on conflict do nothing returning account_id, subject)
    insert into outbox (kind, email, figures)
    select 'day_spend', l.email, jsonb_build_object(
        'amount', above.spent, 'threshold', above.day_spend_above, 'day', to_char(above.day, 'YYYY-MM-DD'))
    from told_now t
    join above on above.account_id = t.account_id and to_char(above.day, 'YYYYMMDD')::bigint = t.subject
    join login l on l.account_id = t.account_id;
    get diagnostics told = row_count;
    return told;
end $$;

-- Remove what of a person is kept with accounts that were closed before `p_before`, at most `p_most` of them; how many that
-- was. The number of the account, its keys' digests and everything of the books stay.
create or replace function forget_closed_accounts(p_before timestamptz, p_most integer) returns integer
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    gone bigint[];
begin
    select coalesce(array_agg(id), '{}') into gone from (
        select a.id from account a
        where a.closed_at < p_before and exists (select from login l where l.account_id = a.id)
        order by a.closed_at limit p_most for update of a skip locked) due;
    delete from recovery_code where account_id = any (gone);
    delete from passkey where account_id = any (gone);
    delete from session where account_id = any (gone);
    delete from mail_token where account_id = any (gone);
    delete from email_change where account_id = any (gone);
    delete from login where account_id = any (gone);
    delete from notice_choice where account_id = any (gone);
    update account set name = 'Closed account' where id = any (gone);
    update api_key set name = 'closed', only_networks = null where account_id = any (gone);
    perform append_audit('worker', 'account.forget', 'account:' || id, '{}') from unnest(gone) id;
    return cardinality(gone);
end $$;

-- Announcements --------------------------------------------------------------------------------------------------------
-- What an operator tells everybody, in plain text.
create table announcement (
    id         bigint generated always as identity primary key,
    english    text not null check (char_length(english) between 1 and 500 and english !~ '[[:cntrl:]]'),
    chinese    text not null check (char_length(chinese) between 1 and 500 and chinese !~ '[[:cntrl:]]'),
    starts_at  timestamptz not null,
    ends_at    timestamptz not null check (ends_at > starts_at),
    removed_at timestamptz
);
create index announcement_by_end on announcement (ends_at) where removed_at is null;

-- Grants ---------------------------------------------------------------------------------------------------------------
grant select, insert on email_change to tollkeeper_console;
grant update (closed_at) on email_change to tollkeeper_console;
grant update (closed_at) on account to tollkeeper_console;
grant execute on function change_email(bytea, bytea) to tollkeeper_console;
grant select, insert, update on notice_choice to tollkeeper_console;
grant select, insert on announcement to tollkeeper_console;
grant update (removed_at) on announcement to tollkeeper_console;
grant select on announcement to tollkeeper_gateway;
grant select (id, expires_at, closed_at), delete on email_change to tollkeeper_worker;
grant execute on function forget_closed_accounts(timestamptz, integer), notice_day_spend() to tollkeeper_worker;
