-- Take a lot back: what is left of it is revoked, what was charged from it is owed. Held parts are told by their settle.
create or replace function revoke_lot(p_lot bigint, out revoked bigint, out owed bigint)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    taken lot;
    act uuid := ledger_uuid();
begin
    perform from account_books where account_id = (select account_id from lot where id = p_lot) for update;
    select * into taken from lot where id = p_lot and closed_at is null for update;
    if not found then
        return;
    end if;
    revoked := taken.remaining;
    update lot set remaining = 0, closed_at = ledger_now(), closed_as = 'revoked' where id = p_lot;
    if revoked > 0 then
        insert into entry (cause, kind, lot_id, account_id, amount, at)
        values (act, 'revoked', p_lot, taken.account_id, revoked, ledger_now());
    end if;
    -- Of an open lot, what neither remains nor is held was spent.
    owed := taken.granted - taken.remaining - (
        select coalesce(sum(d.amount), 0) from hold h, unnest(h.lots, h.amounts) d (lot_id, amount)
        where h.closed_at is null and h.account_id = taken.account_id and d.lot_id = p_lot);
    if owed > 0 then
        insert into entry (cause, kind, lot_id, account_id, amount, at)
        values (act, 'clawed', 0, taken.account_id, owed, ledger_now());
        update account_books set debt = debt + owed where account_id = taken.account_id;
        perform pay_debt(taken.account_id);
    end if;
end $$;
