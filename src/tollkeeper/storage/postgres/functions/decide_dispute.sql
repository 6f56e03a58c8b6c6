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
