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
