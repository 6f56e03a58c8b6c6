create or replace function extend_lot_on_record(p_lot bigint, p_until timestamptz, p_reason text, p_actor text) returns boolean
language plpgsql security definer set search_path = tollkeeper, pg_temp set timezone = 'UTC'
as $$
declare
    before lot;
begin
    select * into before from lot where id = p_lot;
    if not extend_lot(p_lot, p_until) then
        return false;
    end if;
    perform append_audit(p_actor, 'lot.extend', 'lot:' || p_lot, jsonb_build_object(
        'account', before.account_id, 'until', p_until, 'before', before.expires_at, 'reason', p_reason));
    return true;
end $$;
