-- Logins: who may act for an account, how that is shown, and the mails that belong to it.
--
-- Rules of this schema
-- 1. Passwords are argon2id hashes; TOTP secrets are envelopes; tokens and recovery codes are digests.
-- 2. No token waits in the outbox: it is made when its mail is sent.
-- 3. Whether an e-mail has a login is found out by the mailer, never by the request that names it.

-- An account has one login or none (the operator's own accounts, resellers).
create table login (
    account_id          bigint primary key references account,
    -- Canonical: ASCII, stripped, lower-cased.
    email               text not null unique
        check (email = lower(btrim(email)) and char_length(email) between 3 and 254),
    -- Of the folded e-mail: many e-mails reach one person.
    person              bytea not null check (octet_length(person) = 32),
    password            text not null check (password like '$argon2id$%'),
    role                text not null default 'customer' check (role in ('customer', 'support', 'operator')),
    verified_at         timestamptz,
    created_at          timestamptz not null default ledger_now(),
    password_changed_at timestamptz not null default ledger_now(),
    -- Sealed for this very account.
    totp_sealed         bytea,
    -- Since when it has been on; without a second factor: null. Whoever pays out goes by it.
    totp_confirmed_at   timestamptz,
    -- The step of the last code that was used: codes of it, and older ones, are spent.
    totp_last_step      bigint,
    check (totp_confirmed_at is null or totp_sealed is not null)
);

create table recovery_code (
    account_id bigint not null references login,
    digest     bytea not null check (octet_length(digest) = 32),
    used_at    timestamptz,
    primary key (account_id, digest)
);

create table session (
    id               bigint generated always as identity primary key,
    digest           bytea not null unique check (octet_length(digest) = 32),
    account_id       bigint not null references login,
    created_at       timestamptz not null default ledger_now(),
    last_seen_at     timestamptz not null default ledger_now(),
    expires_at       timestamptz not null,
    ip               text not null check (char_length(ip) <= 64),
    agent            text not null check (char_length(agent) <= 200),
    second_factor_at timestamptz,
    revoked_at       timestamptz
);
create index session_by_account on session (account_id, id);
create index session_by_end on session (expires_at);

-- What anybody may ask for with anybody's e-mail. The password is chosen by whoever has the mail.
create table sign_up (
    id           bigint generated always as identity primary key,
    email        text not null check (email = lower(btrim(email)) and char_length(email) between 3 and 254),
    name         text not null check (char_length(name) between 1 and 120),
    -- Of the invite by which they came.
    gift_code    text check (char_length(gift_code) between 1 and 16),
    requested_at timestamptz not null default ledger_now(),
    expires_at   timestamptz not null,
    -- What became of it.
    account_id   bigint references account
);
create index sign_up_by_end on sign_up (expires_at);

create table mail_token (
    digest     bytea primary key check (octet_length(digest) = 32),
    purpose    text not null check (purpose in ('verify', 'reset')),
    account_id bigint references login,
    sign_up_id bigint references sign_up on delete cascade,
    made_at    timestamptz not null default ledger_now(),
    expires_at timestamptz not null,
    used_at    timestamptz,
    check (case purpose when 'verify' then sign_up_id is not null and account_id is null
                        when 'reset' then account_id is not null and sign_up_id is null end)
);
create index mail_token_by_account on mail_token (account_id) where account_id is not null;
create index mail_token_by_sign_up on mail_token (sign_up_id) where sign_up_id is not null;
create index mail_token_by_end on mail_token (expires_at);

-- What to send to whom. Who is behind the e-mail is looked up when it is sent.
create table outbox (
    id          bigint generated always as identity primary key,
    kind        text not null check (kind in ('sign_up', 'reset', 'password_changed', 'second_factor_on', 'second_factor_off')),
    email       text not null check (email !~ '[[:cntrl:][:space:]]' and char_length(email) between 3 and 254),
    sign_up_id  bigint references sign_up on delete cascade,
    made_at     timestamptz not null default ledger_now(),
    attempts    integer not null default 0,
    next_try_at timestamptz not null default ledger_now(),
    sent_at     timestamptz,
    given_up_at timestamptz,
    check ((kind = 'sign_up') = (sign_up_id is not null))
);
create index outbox_waiting on outbox (next_try_at) where sent_at is null and given_up_at is null;
create index outbox_by_sign_up on outbox (sign_up_id) where sign_up_id is not null;
create index outbox_by_time on outbox (made_at);

-- Attempts that failed, by what they were aimed at. A subject is a digest: it may be an e-mail that nobody has here.
create table lockout (
    kind         text not null check (kind ~ '^[a-z_]{1,32}$'),
    subject      bytea not null check (octet_length(subject) = 32),
    -- At whose login, where it is one e-mail's: a digest too, by which its locks are found.
    email        bytea check (octet_length(email) = 32),
    failures     integer not null default 0 check (failures >= 0),
    window_start timestamptz not null default ledger_now(),
    locked_until timestamptz,
    -- How often in a row: most kinds lock for twice as long as the time before.
    locks        integer not null default 0 check (locks >= 0),
    primary key (kind, subject)
);
create index lockout_by_time on lockout (window_start);
create index lockout_by_email on lockout (email) where email is not null;

-- Grants -------------------------------------------------------------------------------------------------------------
grant select on login, recovery_code, session, sign_up, mail_token, outbox, lockout to tollkeeper_console;
-- Nobody is made staff, nor given a second factor, as they come.
grant insert (account_id, email, person, password, verified_at) on login to tollkeeper_console;
grant insert on recovery_code, session, sign_up, outbox, lockout to tollkeeper_console;
grant update (password, role, password_changed_at, totp_sealed, totp_confirmed_at, totp_last_step)
    on login to tollkeeper_console;
grant update (used_at) on recovery_code, mail_token to tollkeeper_console;
grant update (digest, last_seen_at, second_factor_at, revoked_at) on session to tollkeeper_console;
grant update (account_id) on sign_up to tollkeeper_console;
grant update (failures, window_start, locked_until, locks) on lockout to tollkeeper_console;
grant delete on recovery_code, lockout to tollkeeper_console;

-- The worker sends mails and clears away; it sees no password and no second factor.
grant select on outbox to tollkeeper_worker;
grant update (attempts, next_try_at, sent_at, given_up_at) on outbox to tollkeeper_worker;
grant insert on mail_token to tollkeeper_worker;
grant select (account_id, email) on login to tollkeeper_worker;
grant select (id, expires_at) on sign_up to tollkeeper_worker;
grant select (id, expires_at) on session to tollkeeper_worker;
grant select (digest, expires_at) on mail_token to tollkeeper_worker;
grant select (kind, subject, window_start, locked_until) on lockout to tollkeeper_worker;
grant delete on session, sign_up, mail_token, outbox, lockout to tollkeeper_worker;
