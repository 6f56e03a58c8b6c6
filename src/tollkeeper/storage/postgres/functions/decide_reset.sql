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
