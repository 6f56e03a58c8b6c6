-- Quota coming in: redemption codes and the top-ups they become, the rewards of the partner plan, and the faucet.
--
-- Rules of this schema
-- 1. Quota comes in by credit() and goes by the ends of lots. Cash is BIGINT micro-USD in books of its own:
--    granted = pending + available + paid + revoked, for every account, at every commit.
-- 2. Who got something through whom is a graph without loops: an edge is an invitation, or a gift code used.
-- 3. Lock order: lockouts, by kind and subject; the graph (one advisory lock); the faucet (another); the books of all
--    accounts concerned, by id, in one statement; then codes, rewards and withdrawals; the audit trail last.
-- 4. Top-ups, their revocations and cash entries are only ever added. No role writes any of these tables: the functions
--    do.

-- Invitations --------------------------------------------------------------------------------------------------------
-- The last five characters of an invite link: base-32 without look-alikes, by chance.
create function gift_code_by_chance() returns text
language sql volatile
as $$
    select string_agg(substr('23456789ABCDEFGHJKLMNPQRSTUVWXYZ', 1 + (get_byte(chance, n) & 31), 1), '')
    from (select uuid_send(gen_random_uuid()) as chance) once, generate_series(0, 4) n
$$;

create function give_gift_code() returns trigger
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
begin
    loop
        new.gift_code := gift_code_by_chance();
        exit when not exists (select from account where gift_code = new.gift_code);
    end loop;
    return new;
end $$;

-- For the accounts that are there: made before the table is locked, so that calls go on meanwhile. What is taken already
-- is made again.
create unlogged table made_gift_code (account_id bigint primary key, gift_code text not null unique);
create function make_gift_codes() returns void
language plpgsql
as $$
begin
    loop
        insert into made_gift_code
        select a.id, gift_code_by_chance() from account a
        where not exists (select from made_gift_code m where m.account_id = a.id)
        on conflict (gift_code) do nothing;
        exit when not exists (select from account a
                              where not exists (select from made_gift_code m where m.account_id = a.id));
    end loop;
end $$;
select make_gift_codes();

lock table account in access exclusive mode;
-- Of accounts that were opened since.
select make_gift_codes();
alter table account add column gift_code text;
alter table account add column invited_by bigint references account check (invited_by <> id);
-- Nothing that a node keeps in memory changes here.
alter table account disable trigger tell_of_update;
update account a set gift_code = m.gift_code from made_gift_code m where m.account_id = a.id;
alter table account enable trigger tell_of_update;
drop function make_gift_codes();
drop table made_gift_code;
create unique index account_gift_code on account (gift_code);
create index account_by_inviter on account (invited_by) where invited_by is not null;
alter table account alter column gift_code set not null;
alter table account add check (gift_code ~ '^[2-9A-HJ-NP-Z]{5}$');
create trigger give_gift_code before insert on account for each row execute function give_gift_code();
revoke insert on account from tollkeeper_console;
grant insert (name, group_name) on account to tollkeeper_console;

-- Redemption codes ---------------------------------------------------------------------------------------------------
create table redemption_batch (
    id            bigint generated always as identity primary key,
    made_by       text not null,
    made_at       timestamptz not null default ledger_now(),
    codes         integer not null check (codes between 1 and 100000),
    -- What each of its codes brings.
    quota         bigint not null check (quota between 1 and 1152921504606846976),
    usd_micros    bigint not null check (usd_micros > 0),
    months        integer not null check (months between 1 and 120),
    note          text not null check (char_length(note) <= 500),
    -- Whether others earn by its codes: cash for the inviter, gifts for both sides of a gift code.
    rewards       boolean not null,
    -- Until then nobody has its codes, and none is accepted.
    exported_at   timestamptz,
    revoked_at    timestamptz,
    revoked_by    text,
    revoke_reason text check (char_length(revoke_reason) between 1 and 500),
    check ((revoked_at is null) = (revoked_by is null) and (revoked_at is null) = (revoke_reason is null))
);

create table redemption_code (
    id          bigint generated always as identity primary key,
    batch_id    bigint not null references redemption_batch,
    digest      bytea not null unique check (octet_length(digest) = 32),
    redeemed_at timestamptz,
    redeemed_by bigint references account,
    check ((redeemed_at is null) = (redeemed_by is null))
);
create index redemption_code_by_batch on redemption_code (batch_id);

-- Kept for ever.
create table top_up (
    id         bigint generated always as identity primary key,
    account_id bigint not null references account,
    code_id    bigint not null unique references redemption_code,
    quota      bigint not null check (quota > 0),
    usd_micros bigint not null check (usd_micros > 0),
    lot_id     bigint not null unique references lot,
    gift_code  text,
    giver_id   bigint references account check (giver_id <> account_id),
    at         timestamptz not null,
    check ((gift_code is null) = (giver_id is null))
);
create index top_up_by_account on top_up (account_id, id);
create index top_up_by_giver on top_up (giver_id) where giver_id is not null;
alter table redemption_code add column top_up_id bigint references top_up;
alter table redemption_code add check ((top_up_id is null) = (redeemed_at is null));

-- A top-up whose payment was taken back: what that took of its lot, what is owed since, and what was let go.
create table top_up_revocation (
    top_up_id   bigint primary key references top_up,
    revoked_at  timestamptz not null default ledger_now(),
    revoked_by  text not null,
    why         text not null check (char_length(why) between 1 and 500),
    taken_back  bigint not null check (taken_back >= 0),
    owed        bigint not null check (owed >= 0),
    written_off bigint not null check (written_off >= 0)
);

-- Rewards: one row for each side of a gift, and for each inviter's cash ----------------------------------------------
create table reward (
    id           bigint generated always as identity primary key,
    kind         text not null check (kind in ('gift_given', 'gift_received', 'referral_cash')),
    account_id   bigint not null references account,
    top_up_id    bigint not null references top_up,
    -- What the rule gives, and what was left of it by the month's cap: micro-quota, or micro-USD of cash.
    full_amount  bigint not null check (full_amount > 0),
    amount       bigint not null check (amount between 0 and full_amount),
    lot_id       bigint unique references lot,
    granted_at   timestamptz not null,
    -- From when cash may be withdrawn. Quota may be spent at once.
    available_at timestamptz not null check (available_at >= granted_at),
    revoked_at   timestamptz,
    revoked_by   text,
    why          text check (char_length(why) between 1 and 500),
    -- What revoking it took, what is owed since, and what was let go. Calls under way may add to what is owed.
    taken_back   bigint check (taken_back >= 0),
    owed         bigint check (owed >= 0),
    written_off  bigint check (written_off >= 0),
    unique (top_up_id, kind),
    check ((lot_id is null) = (kind = 'referral_cash' or amount = 0)),
    check (num_nulls(revoked_at, revoked_by, why, taken_back, owed, written_off) in (0, 6))
);
create index reward_by_account on reward (account_id, granted_at);

-- Cash ---------------------------------------------------------------------------------------------------------------
create table withdrawal (
    id           bigint generated always as identity primary key,
    account_id   bigint not null references account,
    usd_micros   bigint not null check (usd_micros > 0),
    -- Where the money goes, in the customer's words.
    payee        text not null check (char_length(payee) between 1 and 200 and payee !~ '[[:cntrl:]]'),
    requested_at timestamptz not null default ledger_now(),
    -- requested → approved → paid; or refused, from either of the first two.
    state        text not null default 'requested' check (state in ('requested', 'approved', 'paid', 'refused')),
    approved_at  timestamptz,
    approved_by  text,
    approved_why text check (char_length(approved_why) between 1 and 500),
    -- How it ended. The reason of one that was paid is the transfer's reference.
    decided_at   timestamptz,
    decided_by   text,
    reason       text check (char_length(reason) between 1 and 500),
    check ((state in ('requested', 'approved')) = (decided_at is null)),
    check (num_nulls(decided_at, decided_by, reason) in (0, 3)),
    check (state = 'refused' or (state = 'requested') = (approved_at is null)),
    check (num_nulls(approved_at, approved_by, approved_why) in (0, 3))
);
create index withdrawal_by_account on withdrawal (account_id, id);
-- A request sent twice is one request.
create unique index withdrawal_open on withdrawal (account_id) where state in ('requested', 'approved');

create table cash_entry (
    id            bigint generated always as identity primary key,
    account_id    bigint not null references account,
    kind          text not null check (kind in ('granted', 'revoked', 'paid')),
    usd_micros    bigint not null check (usd_micros > 0),
    reward_id     bigint references reward,
    withdrawal_id bigint unique references withdrawal,
    at            timestamptz not null default ledger_now(),
    unique (reward_id, kind),
    check ((kind = 'paid') = (withdrawal_id is not null) and (kind = 'paid') = (reward_id is null))
);
create index cash_entry_by_account on cash_entry (account_id, id);

-- `requested` is a part of `available`, which is below zero where what was paid out was revoked later.
create function cash_standing(
    p_account bigint, out granted bigint, out pending bigint, out available bigint, out paid bigint,
    out revoked bigint, out requested bigint)
language sql stable
as $$
    select e.granted, e.pending, e.granted - e.revoked - e.paid - e.pending, e.paid, e.revoked, w.requested
    from (select coalesce(sum(c.usd_micros) filter (where c.kind = 'granted'), 0)::bigint as granted,
                 coalesce(sum(c.usd_micros) filter (where c.kind = 'granted' and r.revoked_at is null
                                                      and r.available_at > ledger_now()), 0)::bigint as pending,
                 coalesce(sum(c.usd_micros) filter (where c.kind = 'paid'), 0)::bigint as paid,
                 coalesce(sum(c.usd_micros) filter (where c.kind = 'revoked'), 0)::bigint as revoked
          from cash_entry c left join reward r on r.id = c.reward_id where c.account_id = p_account) e,
         (select coalesce(sum(usd_micros), 0)::bigint as requested
          from withdrawal where account_id = p_account and state in ('requested', 'approved')) w
$$;

-- The graph of who got something through whom ------------------------------------------------------------------------
-- How many accounts are looked at, at most, in each direction.
create function partners_looked_at() returns integer language sql immutable return 25000;

-- Whether an account got anything, over however many others, through `p_from`: yes, no or, where looking would take too
-- long, unknown. First from `p_from` on, for most have nobody who got anything through them; then from the account back.
-- Both stop where they meet the other.
create function descends_from(p_account bigint, p_from bigint) returns text
language plpgsql stable
as $$
declare
    answer text;
begin
    with recursive after (id) as (
        select p_from
        union
        select further.id from after b, lateral (
            select a.id from account a where a.invited_by = b.id
            union all
            select t.account_id from top_up t where t.giver_id = b.id) further (id))
    select case when id = p_account then 'yes' else 'unknown' end into answer
    from (select id, row_number() over () as place from after limit partners_looked_at()) seen
    where id = p_account or place = partners_looked_at() limit 1;
    if answer is distinct from 'unknown' then
        return coalesce(answer, 'no');
    end if;
    with recursive before (id) as (
        select p_account
        union
        select through.id from before b, lateral (
            select a.invited_by from account a where a.id = b.id and a.invited_by is not null
            union all
            select t.giver_id from top_up t where t.account_id = b.id and t.giver_id is not null) through (id))
    select case when id = p_from then 'yes' else 'unknown' end into answer
    from (select id, row_number() over () as place from before limit partners_looked_at()) seen
    where id = p_from or place = partners_looked_at() limit 1;
    return coalesce(answer, 'no');
end $$;

-- Whether the e-mails of two accounts reach one person.
create function are_one_person(p_one bigint, p_other bigint) returns boolean
language sql stable
as $$
    select exists (select from login one join login other on other.person = one.person
                   where one.account_id = p_one and other.account_id = p_other)
$$;

-- An account that was opened by an invite. Said once, before its first top-up; whether it was taken.
create function accept_invitation(p_account bigint, p_gift_code text, p_actor text) returns boolean
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    inviter bigint;
begin
    perform pg_advisory_xact_lock(hashtext('tollkeeper.partners'));
    select id into inviter from account where gift_code = p_gift_code and disabled_at is null and id <> p_account;
    if inviter is null or exists (select from top_up where account_id = p_account)
       or are_one_person(inviter, p_account) or descends_from(inviter, p_account) <> 'no' then
        return false;
    end if;
    update account set invited_by = inviter where id = p_account and invited_by is null;
    if not found then
        return false;
    end if;
    perform append_audit(p_actor, 'account.invited', 'account:' || p_account, jsonb_build_object('by', inviter));
    return true;
end $$;

-- Batches of codes ---------------------------------------------------------------------------------------------------
create function make_codes(
    p_digests bytea[], p_quota bigint, p_usd_micros bigint, p_months integer, p_note text, p_rewards boolean,
    p_actor text)
returns bigint
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    fresh bigint;
begin
    insert into redemption_batch (made_by, codes, quota, usd_micros, months, note, rewards)
    values (p_actor, cardinality(p_digests), p_quota, p_usd_micros, p_months, p_note, p_rewards) returning id into fresh;
    insert into redemption_code (batch_id, digest) select fresh, d from unnest(p_digests) d;
    perform append_audit(p_actor, 'codes.make', 'batch:' || fresh, jsonb_build_object(
        'codes', cardinality(p_digests), 'usd_micros', p_usd_micros, 'months', p_months, 'note', p_note,
        'rewards', p_rewards));
    return fresh;
end $$;

create function export_codes(p_batch bigint, p_actor text) returns boolean
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
begin
    update redemption_batch set exported_at = ledger_now() where id = p_batch and exported_at is null;
    if not found then
        return false;
    end if;
    perform append_audit(p_actor, 'codes.export', 'batch:' || p_batch, '{}');
    return true;
end $$;

-- How many codes are refused from now on; null where there is no such batch, or it was revoked before.
create function revoke_codes(p_batch bigint, p_reason text, p_actor text) returns bigint
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    stopped bigint;
begin
    update redemption_batch set revoked_at = ledger_now(), revoked_by = p_actor, revoke_reason = p_reason
    where id = p_batch and revoked_at is null;
    if not found then
        return null;
    end if;
    select count(*) into stopped from redemption_code where batch_id = p_batch and redeemed_at is null;
    perform append_audit(p_actor, 'codes.revoke', 'batch:' || p_batch,
                         jsonb_build_object('codes', stopped, 'reason', p_reason));
    return stopped;
end $$;

-- Redeeming ----------------------------------------------------------------------------------------------------------
-- What this month's cap leaves of a reward: calendar months in UTC. Revoked rewards count: nobody gets the room back.
create function left_by_cap(p_account bigint, p_kinds text[], p_full bigint, p_cap bigint) returns bigint
language sql stable
as $$
    select greatest(0, least(p_full, p_cap - coalesce(sum(amount), 0)))::bigint from reward
    where account_id = p_account and kind = any (p_kinds) and granted_at >= date_trunc('month', ledger_now(), 'UTC')
$$;

create function reward_gift(p_kind text, p_account bigint, p_top_up bigint, p_full bigint, p_cap bigint, p_months integer)
returns void
language plpgsql
as $$
declare
    given bigint := left_by_cap(p_account, '{gift_given,gift_received}', p_full, p_cap);
    into_lot bigint;
begin
    if given > 0 then
        select lot_id into into_lot
        from credit(p_account, null, given, 'gift', p_top_up || ':' || p_kind, p_months, 0);
    end if;
    insert into reward (kind, account_id, top_up_id, full_amount, amount, lot_id, granted_at, available_at)
    select p_kind, p_account, p_top_up, p_full, given, into_lot, ledger_now(), ledger_now() where p_full > 0;
end $$;

create function reward_cash(p_account bigint, p_top_up bigint, p_full bigint, p_cap bigint, p_pending_days integer)
returns void
language sql
as $$
    with granted as (
        insert into reward (kind, account_id, top_up_id, full_amount, amount, granted_at, available_at)
        select 'referral_cash', p_account, p_top_up, p_full, left_by_cap(p_account, '{referral_cash}', p_full, p_cap),
               ledger_now(), ledger_now() + make_interval(days => p_pending_days)
        where p_full > 0
        returning id, amount)
    insert into cash_entry (account_id, kind, usd_micros, reward_id)
    select p_account, 'granted', amount, id from granted where amount > 0
$$;

-- Verdicts: redeemed, replayed (by this account, before), unknown, used, closed, unknown_gift_code, own_gift_code, loop.
-- Whatever the code is, it is looked for in the same way, and so is the gift code: time tells nothing of either.
create function take_code(
    p_account bigint, p_digest bytea, p_gift_code text, p_cash_millionths integer, p_gift_millionths integer,
    p_pending_days integer, p_cash_cap bigint, p_gift_cap bigint, p_actor text,
    out verdict text, out top_up_id bigint)
language plpgsql
as $$
declare
    code redemption_code;
    batch redemption_batch;
    giver bigint;
    inviter bigint;
    into_lot bigint;
    own_gift_code boolean;
    loops text := 'no';
begin
    select * into code from redemption_code where digest = p_digest;
    select * into batch from redemption_batch where id = code.batch_id;
    select id into giver from account where gift_code = p_gift_code and disabled_at is null;
    own_gift_code := giver = p_account or are_one_person(giver, p_account);
    verdict := case
        when code.id is null then 'unknown'
        when code.redeemed_by = p_account then 'replayed'
        when code.redeemed_by is not null then 'used'
        when batch.exported_at is null or batch.revoked_at is not null then 'closed'
        when p_gift_code is not null and giver is null then 'unknown_gift_code'
        when own_gift_code then 'own_gift_code' end;
    if verdict is not null then
        top_up_id := case verdict when 'replayed' then code.top_up_id end;
        return;
    end if;

    if giver is not null then
        perform pg_advisory_xact_lock(hashtext('tollkeeper.partners'));
        loops := descends_from(giver, p_account);
        if loops = 'yes' then
            verdict := 'loop';
            return;
        end if;
    end if;
    select i.id into inviter from account a join account i on i.id = a.invited_by
    where a.id = p_account and i.disabled_at is null;
    -- Without gifts where nobody earns by the code, or where it took too long to find out whether that closes a loop.
    if not batch.rewards then
        inviter := null;
    end if;
    if not batch.rewards or loops = 'unknown' then
        giver := null;
    end if;
    perform from account_books where account_id in (p_account, giver, inviter) order by account_id for update;

    -- Somebody may have been faster, or the batch was revoked just now.
    select * into batch from redemption_batch where id = code.batch_id for share;
    select * into code from redemption_code where id = code.id for update;
    if code.redeemed_by is not null or batch.revoked_at is not null then
        verdict := case when code.redeemed_by = p_account then 'replayed'
                        when code.redeemed_by is not null then 'used' else 'closed' end;
        top_up_id := case verdict when 'replayed' then code.top_up_id end;
        return;
    end if;

    select lot_id into into_lot from credit(p_account, null, batch.quota, 'redemption', code.id::text, batch.months, 0);
    insert into top_up (account_id, code_id, quota, usd_micros, lot_id, gift_code, giver_id, at)
    values (p_account, code.id, batch.quota, batch.usd_micros, into_lot,
            case when giver is not null then p_gift_code end, giver, ledger_now())
    returning id into top_up_id;
    update redemption_code c set redeemed_at = ledger_now(), redeemed_by = p_account, top_up_id = take_code.top_up_id
    where c.id = code.id;
    -- Rounded half up.
    if inviter is not null then
        perform reward_cash(inviter, top_up_id, round(batch.usd_micros::numeric * p_cash_millionths / 1000000)::bigint,
                            p_cash_cap, p_pending_days);
    end if;
    if giver is not null then
        perform reward_gift(side.kind, side.account_id, top_up_id,
                            round(batch.quota::numeric * p_gift_millionths / 1000000)::bigint, p_gift_cap, batch.months)
        from (values ('gift_given', giver), ('gift_received', p_account)) side (kind, account_id);
    end if;
    perform append_audit(p_actor, 'code.redeem', 'account:' || p_account, jsonb_build_object(
        'top_up', top_up_id, 'code', code.id, 'batch', batch.id, 'giver', giver, 'inviter', inviter)
        || case when loops = 'unknown' then '{"gift": "none: too many partners to rule out a loop"}' else '{}' end::jsonb);
    verdict := 'redeemed';
end $$;

-- take_code, for accounts and IPs that have not guessed too often. Attempts of one account, or from one IP, wait for each
-- other. Only wrong codes are counted, for gift codes are no secret; and nothing where there is no IP, which is at an
-- operator's desk. Verdicts beside those of take_code: unknown_account, account_disabled, locked.
create function redeem(
    p_account bigint, p_ip text, p_digest bytea, p_gift_code text, p_cash_millionths integer,
    p_gift_millionths integer, p_pending_days integer, p_cash_cap bigint, p_gift_cap bigint, p_actor text,
    out verdict text, out top_up_id bigint, out until timestamptz)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    kinds text[] := '{}';
    subjects bytea[] := '{}';
begin
    select case when disabled_at is not null then 'account_disabled' end into verdict from account where id = p_account;
    if not found then
        verdict := 'unknown_account';
    end if;
    if verdict is not null then
        return;
    end if;
    if p_ip <> '' then
        kinds := '{redeem_account,redeem_ip}';
        subjects := array[sha256(convert_to(p_account::text, 'UTF8')), sha256(convert_to(p_ip, 'UTF8'))];
    end if;
    insert into lockout (kind, subject) select * from unnest(kinds, subjects) on conflict do nothing;
    perform from lockout where (kind, subject) in (select * from unnest(kinds, subjects)) order by kind, subject for update;
    select max(locked_until) into until from lockout
    where (kind, subject) in (select * from unnest(kinds, subjects)) and locked_until > ledger_now();
    if until is not null then
        verdict := 'locked';
        return;
    end if;

    select t.verdict, t.top_up_id into redeem.verdict, redeem.top_up_id
    from take_code(p_account, p_digest, p_gift_code, p_cash_millionths, p_gift_millionths, p_pending_days, p_cash_cap,
                   p_gift_cap, p_actor) t;
    if redeem.verdict in ('unknown', 'used', 'closed') then
        perform note_wrong_code(kind, subject) from unnest(kinds, subjects) wrong (kind, subject);
    else
        delete from lockout where (kind, subject) in (select * from unnest(kinds, subjects)) and failures = 0 and locks = 0;
    end if;
end $$;

-- An account: five wrong ones within an hour lock it for an hour, and each further time for twice as long, up to a day.
-- An IP, which many may share: a hundred within 15 minutes lock it for 15 minutes, however often.
create function note_wrong_code(p_kind text, p_subject bytea) returns void
language plpgsql
as $$
declare
    shared boolean := p_kind = 'redeem_ip';
    most integer := case when shared then 100 else 5 end;
    during interval := case when shared then interval '15 minutes' else interval '1 hour' end;
    noted lockout;
begin
    insert into lockout as l (kind, subject, failures) values (p_kind, p_subject, 1)
    on conflict (kind, subject) do update set
        failures = case when l.window_start > ledger_now() - during then l.failures else 0 end + 1,
        -- The first failure begins it.
        window_start = case when l.failures > 0 and l.window_start > ledger_now() - during
                            then l.window_start else ledger_now() end,
        locks = case when l.locked_until > ledger_now() - interval '1 day' then l.locks else 0 end
    returning * into noted;
    if noted.failures >= most then
        update lockout set failures = 0, locks = noted.locks + 1,
            locked_until = ledger_now() + case when shared then during
                                               else least(interval '1 day', during * power(2, least(noted.locks, 5))) end
        where kind = p_kind and subject = p_subject;
    end if;
end $$;

-- Withdrawing cash ---------------------------------------------------------------------------------------------------
-- Verdicts: requested, requested_before, factor_too_new (until then), owed, short, unknown_account, account_disabled.
-- A second factor that is new may be that of somebody who took the login over: its owner has three days to notice.
create function withdraw(
    p_account bigint, p_usd_micros bigint, p_payee text, p_actor text,
    out verdict text, out withdrawal_id bigint, out available bigint, out until timestamptz)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
begin
    perform from account_books where account_id = p_account for update;
    select case when disabled_at is not null then 'account_disabled' end into verdict from account where id = p_account;
    if not found then
        verdict := 'unknown_account';
    end if;
    if verdict is not null then
        return;
    end if;
    select s.available into withdraw.available from cash_standing(p_account) s;
    select totp_confirmed_at + interval '72 hours' into until from login
    where account_id = p_account and totp_confirmed_at > ledger_now() - interval '72 hours';
    select id into withdrawal_id from withdrawal
    where account_id = p_account and state in ('requested', 'approved');
    verdict := case when found then 'requested_before' when until is not null then 'factor_too_new'
                    when available < 0 then 'owed' when available < p_usd_micros then 'short' else 'requested' end;
    if verdict = 'requested' then
        insert into withdrawal (account_id, usd_micros, payee) values (p_account, p_usd_micros, p_payee)
        returning id into withdrawal_id;
        perform append_audit(p_actor, 'withdrawal.request', 'withdrawal:' || withdrawal_id, jsonb_build_object(
            'account', p_account, 'usd_micros', p_usd_micros, 'payee', p_payee));
    end if;
end $$;

-- What becomes of a request: approved, paid or refused. Where that was done it is the verdict. Others: decided_before,
-- not_approved (only what is approved is paid), own (of whoever decides), account_disabled, short (revoked since it was
-- asked for), unknown. Approval is the gate: what was approved can always be noted as paid, for then the money is gone. To
-- stop it there is refusing.
create function decide_withdrawal(
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
                    when (select disabled_at from account where id = asked.account_id) is not null then 'account_disabled'
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

-- Revoking rewards ---------------------------------------------------------------------------------------------------
-- Take a lot back, be it open or expired. What was spent of it is owed or let go, and so is what calls under way spend of
-- it. The caller has locked the account's books, and pays debts when all lots that go are closed: those pay nothing.
create function take_lot_back(
    p_lot bigint, p_write_off boolean, out taken_back bigint, out owed bigint, out written_off bigint)
language plpgsql
as $$
declare
    taken lot;
    act uuid := ledger_uuid();
    lapsed bigint := 0;
    spent bigint;
begin
    taken_back := 0;
    owed := 0;
    written_off := 0;
    select * into taken from lot where id = p_lot for update;
    -- A reward of nothing has no lot, and what was revoked is owed already.
    if not found or taken.closed_as = 'revoked' then
        return;
    end if;
    if taken.closed_at is not null then
        select coalesce(sum(amount), 0) into lapsed from entry
        where account_id = taken.account_id and lot_id = p_lot and kind in ('expired', 'revoked');
    end if;
    -- What neither remains nor lapsed nor is held was spent.
    spent := taken.granted - taken.remaining - lapsed - (
        select coalesce(sum(d.amount), 0) from hold h, unnest(h.lots, h.amounts) d (lot_id, amount)
        where h.closed_at is null and h.account_id = taken.account_id and d.lot_id = p_lot);
    taken_back := taken.remaining;
    -- By its end settle_batch knows whether calls under way owe what they spend.
    update lot set remaining = 0, closed_at = coalesce(closed_at, ledger_now()),
        closed_as = case when p_write_off then 'expired' else 'revoked' end
    where id = p_lot;
    insert into entry (cause, kind, lot_id, account_id, amount, at)
    select act, 'revoked', p_lot, taken.account_id, taken_back, ledger_now() where taken_back > 0;
    if p_write_off then
        written_off := spent;
        return;
    end if;
    owed := spent;
    insert into entry (cause, kind, lot_id, account_id, amount, at)
    select act, 'clawed', 0, taken.account_id, owed, ledger_now() where owed > 0;
    update account_books set debt = debt + owed where account_id = taken.account_id and owed > 0;
end $$;

-- revoke_reward but for the debts that it brings about.
create function take_reward_back(
    p_reward bigint, p_write_off boolean, p_why text, p_actor text,
    out verdict text, out kind text, out taken_back bigint, out owed bigint, out written_off bigint)
language plpgsql
as $$
declare
    given reward;
    spendable bigint;
begin
    select * into given from reward where id = p_reward for update;
    kind := given.kind;
    if given.id is null or given.revoked_at is not null then
        verdict := case when given.id is null then 'unknown' else 'revoked_before' end;
        return;
    end if;
    if given.kind = 'referral_cash' then
        -- Nobody has been paid what is pending; what is approved is as good as paid.
        spendable := case when given.available_at > ledger_now() then given.amount else
            greatest(0, (select available from cash_standing(given.account_id)) - (
                select coalesce(sum(usd_micros), 0) from withdrawal
                where account_id = given.account_id and state = 'approved')) end;
        written_off := case when p_write_off then greatest(0, given.amount - spendable) else 0 end;
        taken_back := given.amount - written_off;
        owed := greatest(0, taken_back - spendable);
        insert into cash_entry (account_id, kind, usd_micros, reward_id)
        select given.account_id, 'revoked', taken_back, given.id where taken_back > 0;
    else
        select l.taken_back, l.owed, l.written_off
        into take_reward_back.taken_back, take_reward_back.owed, take_reward_back.written_off
        from take_lot_back(given.lot_id, p_write_off) l;
    end if;
    update reward r set revoked_at = ledger_now(), revoked_by = p_actor, why = p_why,
        taken_back = take_reward_back.taken_back, owed = take_reward_back.owed,
        written_off = take_reward_back.written_off
    where r.id = p_reward;
    verdict := 'revoked';
    perform append_audit(p_actor, 'reward.revoke', 'reward:' || p_reward, jsonb_build_object(
        'account', given.account_id, 'kind', given.kind, 'taken_back', taken_back, 'owed', owed,
        'written_off', written_off, 'reason', p_why));
end $$;

-- Verdicts: revoked, revoked_before, unknown. What of it was spent, or paid out, is owed or, by choice, written off.
create function revoke_reward(
    p_reward bigint, p_write_off boolean, p_why text, p_actor text,
    out verdict text, out kind text, out taken_back bigint, out owed bigint, out written_off bigint)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    of_account bigint := (select account_id from reward where id = p_reward);
begin
    perform from account_books where account_id = of_account for update;
    select r.verdict, r.kind, r.taken_back, r.owed, r.written_off
    into revoke_reward.verdict, revoke_reward.kind, revoke_reward.taken_back, revoke_reward.owed,
         revoke_reward.written_off
    from take_reward_back(p_reward, p_write_off, p_why, p_actor) r;
    perform pay_debt(of_account);
end $$;

-- Revoking top-ups ---------------------------------------------------------------------------------------------------
-- A top-up whose payment was taken back: its lot, and every reward that came of it. Verdicts: revoked, revoked_before,
-- unknown. What was spent, or paid out, is owed or, by choice, written off.
create function revoke_top_up(
    p_top_up bigint, p_write_off boolean, p_why text, p_actor text,
    out verdict text, out taken_back bigint, out owed bigint, out written_off bigint, out rewards bigint)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    given top_up;
    concerned bigint[];
begin
    select * into given from top_up where id = p_top_up;
    if not found then
        verdict := 'unknown';
        return;
    end if;
    concerned := array(select given.account_id union select account_id from reward where top_up_id = p_top_up);
    perform from account_books where account_id = any (concerned) order by account_id for update;
    if exists (select from top_up_revocation where top_up_id = p_top_up) then
        verdict := 'revoked_before';
        return;
    end if;
    select l.taken_back, l.owed, l.written_off
    into revoke_top_up.taken_back, revoke_top_up.owed, revoke_top_up.written_off
    from take_lot_back(given.lot_id, p_write_off) l;
    select count(*) into rewards
    from (select id from reward where top_up_id = p_top_up and revoked_at is null order by id) r,
         take_reward_back(r.id, p_write_off, p_why, p_actor);
    -- Not before all of it is closed: one lot that goes must not pay for another.
    perform pay_debt(of_account) from unnest(concerned) of_account;
    insert into top_up_revocation (top_up_id, revoked_by, why, taken_back, owed, written_off)
    values (p_top_up, p_actor, p_why, revoke_top_up.taken_back, revoke_top_up.owed, revoke_top_up.written_off);
    verdict := 'revoked';
    perform append_audit(p_actor, 'top_up.revoke', 'top_up:' || p_top_up, jsonb_build_object(
        'account', given.account_id, 'lot', given.lot_id, 'taken_back', taken_back, 'owed', owed,
        'written_off', written_off, 'rewards', rewards, 'reason', p_why));
end $$;

-- The faucet ---------------------------------------------------------------------------------------------------------
create table faucet_grant (
    id           bigint generated always as identity primary key,
    account_id   bigint not null references account,
    key_id       bigint not null unique references api_key,
    lot_id       bigint not null unique references lot,
    -- A /24 of IPv4, a /64 of IPv6; and of IPv6 also the /48, which is what one customer of a provider may have.
    network      text not null check (char_length(network) between 1 and 64),
    wide_network text check (char_length(wide_network) between 1 and 64),
    -- Of the folded e-mail: many e-mails reach one person.
    person       bytea not null check (octet_length(person) = 32),
    at           timestamptz not null
);
create index faucet_grant_by_account on faucet_grant (account_id, at);
create index faucet_grant_by_network on faucet_grant (network, at);
create index faucet_grant_by_wide_network on faucet_grant (wide_network, at) where wide_network is not null;
create index faucet_grant_by_person on faucet_grant (person, at);
create index faucet_grant_by_time on faucet_grant (at);

-- A key with a lot bound to it, and a quota of just that lot. Verdicts: granted, unverified, too_soon, network_full,
-- day_full (these three with when to come again), unknown_account, account_disabled. Those who ask wait for each other.
create function grant_faucet(
    p_account bigint, p_network text, p_wide_network text, p_name text, p_pepper_version smallint, p_digest bytea,
    p_hint text, p_amount bigint, p_days integer, p_network_most integer, p_wide_network_most integer,
    p_day_most integer, p_actor text,
    out verdict text, out key_id bigint, out until timestamptz)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    into_lot bigint;
    who bytea := (select person from login where account_id = p_account);
    day_ago timestamptz := ledger_now() - interval '24 hours';
    last_grant timestamptz;
    -- Of the grant with whose end there is room again.
    network_full timestamptz;
    wide_network_full timestamptz;
    day_full timestamptz;
begin
    perform pg_advisory_xact_lock(hashtext('tollkeeper.faucet'));
    perform from account_books where account_id = p_account for update;
    select max(at) into last_grant from faucet_grant where account_id = p_account or person = who;
    select at into network_full from faucet_grant
    where network = p_network and at > day_ago order by at desc offset p_network_most - 1 limit 1;
    select at into wide_network_full from faucet_grant
    where wide_network = p_wide_network and at > day_ago order by at desc offset p_wide_network_most - 1 limit 1;
    select at into day_full from faucet_grant where at > day_ago order by at desc offset p_day_most - 1 limit 1;
    network_full := greatest(network_full, wide_network_full);
    select case when a.disabled_at is not null then 'account_disabled'
                when l.verified_at is null then 'unverified'
                when last_grant > day_ago then 'too_soon'
                when network_full is not null then 'network_full'
                when day_full is not null then 'day_full'
                else 'granted' end
    into verdict from account a left join login l on l.account_id = a.id where a.id = p_account;
    verdict := coalesce(verdict, 'unknown_account');
    if verdict <> 'granted' then
        until := interval '24 hours' + case verdict when 'too_soon' then last_grant when 'network_full' then network_full
                                                    when 'day_full' then day_full end;
        return;
    end if;
    until := ledger_now() + make_interval(days => p_days);
    insert into api_key (account_id, name, pepper_version, digest, hint, quota, expires_at)
    values (p_account, p_name, p_pepper_version, p_digest, p_hint, p_amount, until) returning id into key_id;
    select lot_id into into_lot from credit(p_account, key_id, p_amount, 'faucet', key_id::text, 0, p_days);
    insert into faucet_grant (account_id, key_id, lot_id, network, wide_network, person, at)
    values (p_account, key_id, into_lot, p_network, p_wide_network, who, ledger_now());
    perform append_audit(p_actor, 'faucet.grant', 'account:' || p_account, jsonb_build_object(
        'key', key_id, 'lot', into_lot, 'amount', p_amount, 'until', until));
end $$;

-- Grants -------------------------------------------------------------------------------------------------------------
grant select on redemption_batch, top_up, top_up_revocation, reward, cash_entry, withdrawal
    to tollkeeper_console, tollkeeper_worker;
-- Nobody needs the digests but the functions.
grant select (id, batch_id, redeemed_at, redeemed_by, top_up_id) on redemption_code
    to tollkeeper_console, tollkeeper_worker;
grant select on faucet_grant to tollkeeper_console, tollkeeper_worker;
grant execute on function cash_standing(bigint) to tollkeeper_console;
grant execute on function
    accept_invitation(bigint, text, text),
    make_codes(bytea[], bigint, bigint, integer, text, boolean, text), export_codes(bigint, text),
    revoke_codes(bigint, text, text),
    redeem(bigint, text, bytea, text, integer, integer, integer, bigint, bigint, text),
    withdraw(bigint, bigint, text, text), decide_withdrawal(bigint, text, text, text),
    revoke_reward(bigint, boolean, text, text), revoke_top_up(bigint, boolean, text, text),
    grant_faucet(bigint, text, text, text, smallint, bytea, text, bigint, integer, integer, integer, integer, text)
    to tollkeeper_console;
