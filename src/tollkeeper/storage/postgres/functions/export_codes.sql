create or replace function export_codes(p_batch bigint, p_actor text) returns boolean
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
begin
    update redemption_batch set exported_at = ledger_now() where id = p_batch and exported_at is null;
    if not found then
        return false;
    end if;
    perform append_audit(p_actor, 'codes.export', 'batch:' || p_batch, '{}');
    return true;
end $$;
