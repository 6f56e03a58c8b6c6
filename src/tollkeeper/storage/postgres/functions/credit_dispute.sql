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
