-- Quota that came in, or came back, pays what is owed before it can be spent.
create or replace function pay_debt(for_account bigint) returns void
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    owed bigint := (select debt from account_books where account_id = for_account for update);
begin
    if owed > 0 then
        with paid as (
            insert into entry (cause, kind, lot_id, account_id, amount, at)
            select act.id, 'debt_paid', d.lot_id, for_account, d.amount, ledger_now()
            from ledger_uuid() act (id), draw_lots(for_account, null, owed) d
            returning amount)
        update account_books set debt = debt - (select coalesce(sum(amount), 0) from paid) where account_id = for_account;
    end if;
end $$;
