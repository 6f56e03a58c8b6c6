-- Who may act for staff: operator keys and roles are given and taken by functions that write the audit row themselves. No role
-- of the service can do it by plain statements any more, or write such a row without the deed. And who counts as a second
-- person: not another login of the same mailbox, nor whoever has the name of a key that was revoked.

-- File a new operator key, on the record. Verdicts: made, name_taken (by one that was not revoked), not_staff (the account
-- has no staff login).
create or replace function make_operator_key(
    p_name text, p_digest bytea, p_hint text, p_scopes text[], p_only_networks cidr[], p_account bigint,
    p_expires_at timestamptz, p_actor text, out verdict text, out key_id bigint)
language plpgsql security definer set search_path = tollkeeper, pg_temp set timezone = 'UTC'
as $$
begin
    if p_account is not null and not exists (select from login where account_id = p_account and role <> 'customer') then
        verdict := 'not_staff';
        return;
    end if;
    insert into operator_key (name, digest, hint, scopes, only_networks, account_id, expires_at, created_by)
    values (p_name, p_digest, p_hint, p_scopes, p_only_networks, p_account, p_expires_at, p_actor)
    on conflict (name) where revoked_at is null do nothing returning id into key_id;
    verdict := case when key_id is null then 'name_taken' else 'made' end;
    if verdict = 'made' then
        perform append_audit(p_actor, 'operator_key.create', 'operator_key:' || p_name, jsonb_build_object(
            'scopes', p_scopes, 'expires_at', p_expires_at, 'account', p_account));
    end if;
end $$;

-- Refuse an operator key from now on, on the record. Verdicts: revoked, revoked_before, unknown.
create or replace function revoke_operator_key(p_name text, p_reason text, p_actor text, out verdict text)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
begin
    update operator_key set revoked_at = ledger_now() where name = p_name and revoked_at is null;
    if found then
        verdict := 'revoked';
        perform append_audit(
            p_actor, 'operator_key.revoke', 'operator_key:' || p_name, jsonb_build_object('reason', p_reason));
        return;
    end if;
    verdict := case when exists (select from operator_key where name = p_name) then 'revoked_before' else 'unknown' end;
end $$;

-- Give a login another role, on the record; its sessions end, for those of staff are of another kind. Verdicts: set, same,
-- unknown (no login).
create or replace function set_login_role(p_account bigint, p_role text, p_actor text, out verdict text)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    role_before text;
    ended bigint;
begin
    select role into role_before from login where account_id = p_account for no key update;
    verdict := case when not found then 'unknown' when role_before = p_role then 'same' else 'set' end;
    if verdict <> 'set' then
        return;
    end if;
    update login set role = p_role where account_id = p_account;
    with over as (
        update session set revoked_at = ledger_now()
        where account_id = p_account and revoked_at is null and expires_at > ledger_now() returning id)
    select count(*) into ended from over;
    perform append_audit(p_actor, 'login.role', 'account:' || p_account, jsonb_build_object(
        'before', role_before, 'after', p_role, 'sessions', ended));
end $$;

create or replace function put_on_record(p_actor text, p_action text, p_subject text, p_detail jsonb) returns void
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
begin
    if p_action in ('account.credit', 'account.invited', 'account.restrict', 'code.redeem', 'faucet.grant', 'ip.ban',
                    'provider.suspend', 'provider.lift_suspension', 'login.role')
       or split_part(p_action, '.', 1) in ('lot', 'codes', 'withdrawal', 'reward', 'top_up', 'price', 'dispute',
                                           'operator_key') then
        raise exception 'a row about % is written by what does it', p_action using errcode = 'insufficient_privilege';
    end if;
    -- The names under which other parts of the service act.
    if p_actor in ('gateway', 'worker', 'abuse control', 'dispute rule') then
        raise exception '% is not the name of a person', p_actor using errcode = 'insufficient_privilege';
    end if;
    perform append_audit(p_actor, p_action, p_subject, p_detail);
end $$;

-- Who a login of the audit trail (`account:7`) belongs to: logins whose e-mails reach one mailbox are one person. Any other
-- name stands for itself.
create or replace function person_of(p_actor text) returns text
language sql stable
as $$
    select coalesce((select 'person:' || encode(l.person, 'hex') from login l
                     where l.account_id = substring(p_actor from '^account:([0-9]{1,18})$')::bigint), p_actor)
$$;

-- The people (person_of) behind a name of the audit trail at a time: first whom it belongs to, then whoever made its operator
-- key, and the keys by which that was made. A key that belongs to no login is nobody's: the first is null.
create or replace function people_behind(p_actor text, p_at timestamptz) returns text[]
language plpgsql stable
as $$
declare
    people text[] := '{}';
    who text := p_actor;
    -- A name can be given again once its key was revoked: whose it was is asked of the time when it acted.
    acted_at timestamptz := p_at;
    found_key operator_key;
begin
    -- A key is made by an older one, so there is an end; and none is needed that is farther away.
    for step in 1..20 loop
        exit when who !~ '^operator:';
        select * into found_key from operator_key k
        where 'operator:' || k.name = who and k.created_at <= acted_at order by k.id desc limit 1;
        exit when not found;
        people := array_append(people, person_of('account:' || found_key.account_id));
        who := found_key.created_by;
        acted_at := found_key.created_at;
    end loop;
    return case when who ~ '^operator:' then people else array_append(people, person_of(who)) end;
end $$;

-- What becomes of a request: approved, paid or refused. Where that was done it is the verdict. Others: decided_before,
-- not_approved (only what is approved is paid), own (of whoever decides, or of whoever has or made the operator key by
-- which it is decided), same_person (may_be_same_person: who approved it notes no payment), account_disabled, short
-- (revoked since it was asked for), unknown. Approval is the gate: what was approved can always be noted as paid, for then
-- the money is gone. To stop it there is refusing.
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
                    when person_of('account:' || asked.account_id) = any(people_behind(p_actor, ledger_now())) then 'own'
                    when p_state = 'paid' and p_actor ~ '^(operator|account):'
                        and may_be_same_person(p_actor, ledger_now(), asked.approved_by, asked.approved_at)
                        then 'same_person'
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
                    when person_of('account:' || asked.account_id) = any(people_behind(p_actor, ledger_now())) then 'own'
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
                    when person_of('account:' || asked.account_id) = any(people_behind(p_actor, ledger_now())) then 'own'
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

revoke insert, update (revoked_at) on operator_key from tollkeeper_console;
revoke update (role) on login from tollkeeper_console;
grant execute on function
    make_operator_key(text, bytea, text, text[], cidr[], bigint, timestamptz, text),
    person_of(text),
    revoke_operator_key(text, text, text),
    set_login_role(bigint, text, text)
    to tollkeeper_console;
