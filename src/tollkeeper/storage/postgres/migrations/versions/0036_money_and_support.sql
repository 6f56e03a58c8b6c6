-- Codes: a batch is opened first, under a name of its own, and has its codes from when they are shown. It may expire.
alter table redemption_batch add column expires_at timestamptz check (expires_at > made_at);
alter table redemption_batch add column once text unique check (length(once) between 1 and 400);

-- A batch that has no codes yet. Under one name it is opened once: whoever asks again is told which it was.
create or replace function open_batch(
    p_codes integer, p_quota bigint, p_usd_micros bigint, p_months integer, p_note text, p_rewards boolean,
    p_valid_days integer, p_once text, p_reason text, p_actor text, out batch_id bigint, out was_before boolean)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
begin
    insert into redemption_batch (made_by, codes, quota, usd_micros, months, note, rewards, expires_at, once)
    values (p_actor, p_codes, p_quota, p_usd_micros, p_months, p_note, p_rewards,
            ledger_now() + make_interval(days => p_valid_days), p_once)
    on conflict (once) do nothing returning id into batch_id;
    was_before := batch_id is null;
    if was_before then
        select id into batch_id from redemption_batch where once = p_once;
        return;
    end if;
    perform append_audit(p_actor, 'codes.make', 'batch:' || batch_id, jsonb_build_object(
        'codes', p_codes, 'usd_micros', p_usd_micros, 'months', p_months, 'note', p_note, 'rewards', p_rewards)
        || case when p_valid_days is null then '{}'::jsonb else jsonb_build_object('valid_days', p_valid_days) end
        || case p_reason when '' then '{}'::jsonb else jsonb_build_object('reason', p_reason) end);
end $$;

-- The codes of a batch, which are accepted from now on. Verdicts: filled, filled_before, revoked, unknown.
create or replace function fill_batch(p_batch bigint, p_digests bytea[], p_actor text, out verdict text)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    batch redemption_batch;
begin
    select * into batch from redemption_batch where id = p_batch for update;
    verdict := case when batch.id is null then 'unknown'
                    when batch.revoked_at is not null then 'revoked'
                    when batch.exported_at is not null
                        or exists (select from redemption_code where batch_id = p_batch) then 'filled_before'
                    else 'filled' end;
    if verdict <> 'filled' then
        return;
    end if;
    if cardinality(p_digests) <> batch.codes then
        raise exception 'a batch of % codes is not filled with %', batch.codes, cardinality(p_digests)
            using errcode = 'invalid_parameter_value';
    end if;
    insert into redemption_code (batch_id, digest) select p_batch, d from unnest(p_digests) d;
    update redemption_batch set exported_at = ledger_now() where id = p_batch;
    perform append_audit(p_actor, 'codes.export', 'batch:' || p_batch, '{}');
end $$;

-- A step of take_code: why the account cannot redeem that code, with that gift code, whose giver was looked for; null
-- where nothing stands against it. Who the giver is, is found out whatever the code is: time tells nothing of it.
create or replace function code_verdict(
    p_account bigint, p_code redemption_code, p_batch redemption_batch, p_gift_code text, p_giver bigint) returns text
language plpgsql
as $$
declare
    own_gift_code boolean := p_giver = p_account or are_one_person(p_giver, p_account);
begin
    return case
        when p_code.id is null then 'unknown'
        when p_code.redeemed_by = p_account then 'replayed'
        when p_code.redeemed_by is not null then 'used'
        when p_batch.exported_at is null or p_batch.revoked_at is not null or p_batch.expires_at <= ledger_now()
            then 'closed'
        when p_gift_code is not null and p_giver is null then 'unknown_gift_code'
        when own_gift_code then 'own_gift_code' end;
end $$;

-- What becomes of a request: approved, paid or refused. Where that was done it is the verdict. Others: decided_before,
-- not_approved (only what is approved is paid), own (of whoever decides, or of whoever has the operator key by which it is
-- decided), same_person (who approved it by an operator key notes no payment by it), account_disabled, short (revoked since
-- it was asked for), unknown. Approval is the gate: what was approved can always be noted as paid, for then the money is
-- gone. To stop it there is refusing.
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
                    when p_actor = 'account:' || asked.account_id
                        or exists (select from operator_key k where k.account_id = asked.account_id
                                   and k.revoked_at is null and 'operator:' || k.name = p_actor) then 'own'
                    when p_state = 'paid' and p_actor like 'operator:%' and asked.approved_by = p_actor
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

-- Lists of staff are read from the newest, or the oldest, on.
create index redemption_code_redeemed on redemption_code (batch_id) where redeemed_at is not null;
create index withdrawal_waiting on withdrawal (id) where decided_at is null;
create index restriction_by_end on restriction (until);

-- Calls that were refused before anything was held for them: what support is asked about a request id. No content.
create table refused_call (
    request_id uuid primary key,
    account_id bigint not null,
    key_id     bigint not null,
    code       text not null check (length(code) between 1 and 64),
    at         timestamptz not null default ledger_now()
);
create index refused_call_by_reason on refused_call (account_id, code, at);
create index refused_call_by_age on refused_call (at);
grant select on refused_call to tollkeeper_console;
grant select, delete on refused_call to tollkeeper_worker;

-- Calls of known keys that were refused before anything was held for them. Of each account and reason, a hundred in an
-- hour are enough: a flood fills nothing, and hides no other reason.
create or replace function note_refused_calls(
    p_request uuid[], p_account bigint[], p_key bigint[], p_code text[]) returns void
language sql security definer set search_path = tollkeeper, pg_temp
as $$
    insert into refused_call (request_id, account_id, key_id, code)
    select request_id, account_id, key_id, left(code, 64)
    from (select seen.*, row_number() over (partition by account_id, code) as place
          from unnest(p_request, p_account, p_key, p_code) seen (request_id, account_id, key_id, code)) fresh
    where place + (select count(*) from (
        select from refused_call r
        where r.account_id = fresh.account_id and r.code = left(fresh.code, 64)
          and r.at > ledger_now() - interval '1 hour'
        limit 100) lately) <= 100
    on conflict do nothing
$$;

grant execute on function
    open_batch(integer, bigint, bigint, integer, text, boolean, integer, text, text, text),
    fill_batch(bigint, bytea[], text)
    to tollkeeper_console;
grant execute on function note_refused_calls(uuid[], bigint[], bigint[], text[]) to tollkeeper_gateway;
