-- What customers say of charges that they hold to be wrong, and what became of it. One for each call.
create table dispute (
    id         bigint generated always as identity primary key,
    request_id uuid not null unique,
    account_id bigint not null references account,
    kind       text not null check (kind in ('nothing_came', 'cut_off', 'charged_twice', 'too_much', 'other')),
    -- The customer's own words.
    note       text not null check (char_length(note) <= 500),
    -- As the receipt says, which may be cleaned away.
    charged    bigint not null check (charged > 0),
    opened_at  timestamptz not null default ledger_now(),
    state      text not null default 'open' check (state in ('open', 'credited', 'declined')),
    decided_at timestamptz,
    decided_by text,
    reason     text check (char_length(reason) between 1 and 500),
    credited   bigint check (credited between 1 and charged),
    lot_id     bigint references lot,
    check ((state = 'open') = (decided_at is null) and (state = 'open') = (decided_by is null)),
    check ((state = 'open') = (reason is null)),
    check ((state = 'credited') = (credited is not null) and (state = 'credited') = (lot_id is not null))
);
create index dispute_open on dispute (id) where state = 'open';
create index dispute_by_account on dispute (account_id, id);
grant select on dispute to tollkeeper_console, tollkeeper_worker;

-- Second factors and passkeys that staff were asked to drop: one asks, another confirms.
create table factor_reset (
    id            bigint generated always as identity primary key,
    account_id    bigint not null references account,
    what          text not null check (what in ('second_factor', 'passkeys')),
    reason        text not null check (char_length(reason) between 1 and 500),
    asked_at      timestamptz not null default ledger_now(),
    asked_by      text not null,
    expires_at    timestamptz not null default ledger_now() + interval '1 day',
    outcome       text check (outcome in ('done', 'refused')),
    decided_at    timestamptz,
    decided_by    text,
    decide_reason text check (char_length(decide_reason) between 1 and 500),
    check ((outcome is null) = (decided_at is null) and (outcome is null) = (decided_by is null))
);
create index factor_reset_by_account on factor_reset (account_id, id);
create index factor_reset_waiting on factor_reset (id) where outcome is null;
grant select on factor_reset to tollkeeper_console;

alter table outbox drop constraint outbox_kind_check;
alter table outbox add constraint outbox_kind_check check (kind in (
    'sign_up', 'reset', 'password_changed', 'second_factor_on', 'second_factor_off', 'passkey_added', 'passkey_removed',
    'email_change', 'email_change_asked', 'email_changed', 'account_closed', 'reset_asked',
    'price_change', 'price_withdrawn', 'lot_expiring', 'low_balance', 'day_spend', 'new_sign_in',
    'dispute_credited', 'dispute_declined'));
alter table outbox drop constraint outbox_figures_by_kind;
alter table outbox add constraint outbox_figures_by_kind check ((figures is not null) = (kind in (
    'price_change', 'price_withdrawn', 'lot_expiring', 'low_balance', 'day_spend', 'new_sign_in',
    'dispute_credited', 'dispute_declined')));

-- The people behind a name of the audit trail at a time: first whom it belongs to, then whoever made its operator key, and
-- the keys by which that was made. A key that belongs to no login is nobody's: the first is null.
create or replace function people_behind(p_actor text, p_at timestamptz) returns text[]
language plpgsql stable
as $$
declare
    people text[] := '{}';
    who text := p_actor;
    found_key operator_key;
begin
    -- A key is made by an older one, so there is an end; and none is needed that is farther away.
    for step in 1..20 loop
        exit when who !~ '^operator:';
        select * into found_key from operator_key k
        where 'operator:' || k.name = who and k.created_at <= p_at order by k.id desc limit 1;
        exit when not found;
        people := array_append(people, 'account:' || found_key.account_id);
        who := found_key.created_by;
    end loop;
    return case when who ~ '^operator:' then people else array_append(people, who) end;
end $$;

-- Whether two acts may be one person's: of the same login, by a key that the other one made, or by a key that belongs to no
-- login, so that nobody knows whose it is. Commands on the database's own host (`cli:`) are not told apart.
create or replace function may_be_same_person(
    p_one text, p_one_at timestamptz, p_other text, p_other_at timestamptz) returns boolean
language plpgsql stable
as $$
declare
    one text[] := people_behind(p_one, p_one_at);
    other text[] := people_behind(p_other, p_other_at);
begin
    if p_one like 'cli:%' or p_other like 'cli:%' then
        return false;
    end if;
    return one[1] is null or other[1] is null
        or coalesce(one[1] = any(other), false) or coalesce(other[1] = any(one), false);
end $$;

-- A step of open_dispute and decide_dispute, which have locked the account's books and the dispute. The call's own id is
-- the name of the credit: the books take it once.
create or replace function credit_dispute(
    p_request uuid, p_amount bigint, p_months integer, p_reason text, p_actor text) returns void
language plpgsql
as $$
declare
    asked dispute;
    into_lot bigint;
begin
    select * into asked from dispute where request_id = p_request;
    select lot_id into into_lot
    from credit(asked.account_id, null, p_amount, 'dispute', p_request::text, p_months, 0);
    update dispute
    set state = 'credited', credited = p_amount, lot_id = into_lot, decided_at = ledger_now(), decided_by = p_actor,
        reason = p_reason
    where request_id = p_request;
    perform append_audit(p_actor, 'dispute.credit', 'account:' || asked.account_id, jsonb_build_object(
        'call', p_request, 'amount', p_amount, 'charged', asked.charged, 'lot', into_lot, 'reason', p_reason));
    insert into outbox (kind, email, figures)
    select 'dispute_credited', email, jsonb_build_object('call', p_request) from login where account_id = asked.account_id;
end $$;

-- An account says that a charge of its own is wrong. Verdicts: opened, credited (`p_at_once`: the whole charge comes back
-- now), disputed_before, nothing_charged, too_old, day_full, unknown. Those of one account wait for each other.
create or replace function open_dispute(
    p_request uuid, p_account bigint, p_kind text, p_note text, p_at_once boolean, p_reason text, p_within interval,
    p_day_most integer, p_months integer, p_actor text, out verdict text)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    call usage;
begin
    perform from account_books where account_id = p_account for update;
    select * into call from usage where request_id = p_request and account_id = p_account;
    verdict := case
        when call.request_id is null then 'unknown'
        when exists (select from dispute where request_id = p_request) then 'disputed_before'
        when call.charged = 0 then 'nothing_charged'
        when call.settled_at < ledger_now() - p_within then 'too_old'
        when (select count(*) from dispute where account_id = p_account and opened_at > ledger_now() - interval '24 hours')
            >= p_day_most then 'day_full'
        else 'opened' end;
    if verdict <> 'opened' then
        return;
    end if;
    insert into dispute (request_id, account_id, kind, note, charged)
    values (p_request, p_account, p_kind, p_note, call.charged);
    perform append_audit(p_actor, 'dispute.open', 'account:' || p_account, jsonb_build_object(
        'call', p_request, 'kind', p_kind, 'charged', call.charged));
    if p_at_once then
        perform credit_dispute(p_request, call.charged, p_months, p_reason, 'dispute rule');
        verdict := 'credited';
    end if;
end $$;

-- What becomes of a dispute: credited or declined. Where that was done it is the verdict. Others: credited_before,
-- declined_before, own (of whoever decides), too_much (more than was charged), unknown. Where it is
-- declined, the reason is what the customer reads.
create or replace function decide_dispute(
    p_request uuid, p_state text, p_amount bigint, p_months integer, p_reason text, p_actor text,
    out verdict text)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    asked dispute;
begin
    perform from account_books where account_id = (select account_id from dispute where request_id = p_request) for update;
    select * into asked from dispute where request_id = p_request for update;
    verdict := case when asked.request_id is null then 'unknown'
                    when asked.state <> 'open' then asked.state || '_before'
                    when 'account:' || asked.account_id = any(people_behind(p_actor, ledger_now())) then 'own'
                    when p_state = 'credited' and p_amount not between 1 and asked.charged then 'too_much'
                    else p_state end;
    if verdict = 'credited' then
        perform credit_dispute(p_request, p_amount, p_months, p_reason, p_actor);
    elsif verdict = 'declined' then
        update dispute
        set state = 'declined', decided_at = ledger_now(), decided_by = p_actor, reason = p_reason
        where request_id = p_request;
        perform append_audit(p_actor, 'dispute.decline', 'account:' || asked.account_id, jsonb_build_object(
            'call', p_request, 'charged', asked.charged, 'reason', p_reason));
        insert into outbox (kind, email, figures)
        select 'dispute_declined', email, jsonb_build_object('call', p_request)
        from login where account_id = asked.account_id;
    end if;
end $$;

-- A member of staff asks that an account's second factor, or its passkeys, be dropped; another confirms it within a day.
-- Verdicts: asked, done (commands on the database's own host act alone), asked_before, nothing_there, unknown (no login).
create or replace function ask_reset(
    p_account bigint, p_what text, p_reason text, p_actor text, out verdict text, out reset_id bigint)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    whose login;
    is_alone boolean := p_actor like 'cli:%';
begin
    select * into whose from login where account_id = p_account for no key update;
    verdict := case
        when whose.account_id is null then 'unknown'
        when p_what = 'second_factor' and whose.totp_confirmed_at is null
            or p_what = 'passkeys' and not exists (select from passkey where account_id = p_account) then 'nothing_there'
        when is_alone then 'done'
        when exists (select from factor_reset where account_id = p_account and what = p_what and outcome is null
                     and expires_at > ledger_now()) then 'asked_before'
        else 'asked' end;
    if verdict not in ('asked', 'done') then
        return;
    end if;
    insert into factor_reset (account_id, what, reason, asked_by) values (p_account, p_what, p_reason, p_actor)
    returning id into reset_id;
    perform append_audit(p_actor, 'login.reset_ask', 'account:' || p_account, jsonb_build_object(
        'reset', reset_id, 'what', p_what, 'reason', p_reason));
    if is_alone then
        update factor_reset set outcome = 'done', decided_at = ledger_now(), decided_by = p_actor, decide_reason = p_reason
        where id = reset_id;
    else
        insert into outbox (kind, email) values ('reset_asked', whose.email);
    end if;
end $$;

-- What becomes of a reset that was asked for: done or refused. Where that was noted it is the verdict; whoever noted
-- `done` drops the factor in the same transaction. Others: decided_before, expired, same_person (who asked), own (of whoever
-- confirms), newer (the owner set another one up since), unknown. Whoever asked may refuse it, too: they take it back.
create or replace function decide_reset(
    p_reset bigint, p_outcome text, p_reason text, p_actor text, out verdict text)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    asked factor_reset;
begin
    select * into asked from factor_reset where id = p_reset for update;
    verdict := case when asked.id is null then 'unknown'
                    when asked.outcome is not null then 'decided_before'
                    when asked.expires_at <= ledger_now() then 'expired'
                    when p_outcome = 'refused' then 'refused'
                    when may_be_same_person(p_actor, ledger_now(), asked.asked_by, asked.asked_at) then 'same_person'
                    when 'account:' || asked.account_id = any(people_behind(p_actor, ledger_now())) then 'own'
                    when asked.asked_at < case asked.what
                        when 'passkeys' then (select max(created_at) from passkey where account_id = asked.account_id)
                        else (select totp_confirmed_at from login where account_id = asked.account_id) end then 'newer'
                    else p_outcome end;
    if verdict <> p_outcome then
        return;
    end if;
    update factor_reset set outcome = p_outcome, decided_at = ledger_now(), decided_by = p_actor, decide_reason = p_reason
    where id = p_reset;
    perform append_audit(
        p_actor, case p_outcome when 'done' then 'login.reset_confirm' else 'login.reset_refuse' end,
        'account:' || asked.account_id, jsonb_build_object(
            'reset', p_reset, 'what', asked.what, 'asked_by', asked.asked_by, 'reason', p_reason));
end $$;

create or replace function put_on_record(p_actor text, p_action text, p_subject text, p_detail jsonb) returns void
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
begin
    if p_action in ('account.credit', 'account.invited', 'account.restrict', 'code.redeem', 'faucet.grant', 'ip.ban',
                    'provider.suspend', 'provider.lift_suspension')
       or split_part(p_action, '.', 1) in ('lot', 'codes', 'withdrawal', 'reward', 'top_up', 'price', 'dispute') then
        raise exception 'a row about % is written by what does it', p_action using errcode = 'insufficient_privilege';
    end if;
    -- The names under which other parts of the service act.
    if p_actor in ('gateway', 'worker', 'abuse control', 'dispute rule') then
        raise exception '% is not the name of a person', p_actor using errcode = 'insufficient_privilege';
    end if;
    perform append_audit(p_actor, p_action, p_subject, p_detail);
end $$;

create or replace function record_first_payment() returns trigger
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
begin
    if not exists (
        select from lot where account_id = new.account_id and source not in ('faucet', 'gift', 'dispute') and id <> new.id
    ) then
        insert into change (kind, subject) values ('account', new.account_id);
    end if;
    return null;
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
    update dispute set note = '' where account_id = any (gone) and note <> '';
    update account set name = 'Closed account' where id = any (gone);
    update api_key set name = 'closed', only_networks = null where account_id = any (gone);
    perform append_audit('worker', 'account.forget', 'account:' || id, '{}') from unnest(gone) id;
    return cardinality(gone);
end $$;

-- A charge that comes back is no payment.
drop trigger tell_of_first_payment on lot;
create trigger tell_of_first_payment after insert on lot
    for each row when (new.source not in ('faucet', 'gift', 'dispute')) execute function record_first_payment();

grant execute on function
    open_dispute(uuid, bigint, text, text, boolean, text, interval, integer, integer, text),
    decide_dispute(uuid, text, bigint, integer, text, text),
    ask_reset(bigint, text, text, text),
    decide_reset(bigint, text, text, text)
    to tollkeeper_console;
