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
