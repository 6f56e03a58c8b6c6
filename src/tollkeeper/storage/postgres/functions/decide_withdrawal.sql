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
