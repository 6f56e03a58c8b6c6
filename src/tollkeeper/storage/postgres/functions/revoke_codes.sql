-- How many codes are refused from now on; null where there is no such batch, or it was revoked before.
create or replace function revoke_codes(p_batch bigint, p_reason text, p_actor text) returns bigint
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
