-- The indexes by which accounts and their stories are found were built beforehand (INDEXES_ASIDE).
-- A lot that was taken back is on the record with its account.
create or replace function revoke_lot_on_record(p_lot bigint, p_reason text, p_actor text, out revoked bigint, out owed bigint)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
begin
    select r.revoked, r.owed into revoke_lot_on_record.revoked, revoke_lot_on_record.owed from revoke_lot(p_lot) r;
    if revoked is not null then
        perform append_audit(p_actor, 'lot.revoke', 'lot:' || p_lot, jsonb_build_object(
            'account', (select account_id from lot where id = p_lot), 'revoked', revoked, 'owed', owed,
            'reason', p_reason));
    end if;
end $$;
