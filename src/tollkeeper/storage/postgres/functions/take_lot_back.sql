-- Take a lot back, be it open or expired. What was spent of it is owed or let go, and so is what calls under way spend of
-- it. The caller has locked the account's books, and pays debts when all lots that go are closed: those pay nothing.
create or replace function take_lot_back(
    p_lot bigint, p_write_off boolean, out taken_back bigint, out owed bigint, out written_off bigint)
language plpgsql
as $$
declare
    taken lot;
    act uuid := ledger_uuid();
    lapsed bigint := 0;
    spent bigint;
begin
    taken_back := 0;
    owed := 0;
    written_off := 0;
    select * into taken from lot where id = p_lot for update;
    -- A reward of nothing has no lot, and what was revoked is owed already.
    if not found or taken.closed_as = 'revoked' then
        return;
    end if;
    if taken.closed_at is not null then
        select coalesce(sum(amount), 0) into lapsed from entry
        where account_id = taken.account_id and lot_id = p_lot and kind in ('expired', 'revoked');
    end if;
    -- What neither remains nor lapsed nor is held was spent.
    spent := taken.granted - taken.remaining - lapsed - (
        select coalesce(sum(d.amount), 0) from hold h, unnest(h.lots, h.amounts) d (lot_id, amount)
        where h.closed_at is null and h.account_id = taken.account_id and d.lot_id = p_lot);
    taken_back := taken.remaining;
    -- By its end settle_batch knows whether calls under way owe what they spend.
    update lot set remaining = 0, closed_at = coalesce(closed_at, ledger_now()),
        closed_as = case when p_write_off then 'expired' else 'revoked' end
    where id = p_lot;
    insert into entry (cause, kind, lot_id, account_id, amount, at)
    select act, 'revoked', p_lot, taken.account_id, taken_back, ledger_now() where taken_back > 0;
    if p_write_off then
        written_off := spent;
        return;
    end if;
    owed := spent;
    insert into entry (cause, kind, lot_id, account_id, amount, at)
    select act, 'clawed', 0, taken.account_id, owed, ledger_now() where owed > 0;
    update account_books set debt = debt + owed where account_id = taken.account_id and owed > 0;
end $$;
