-- A step of settle_batch, for calls that it settled at `p_at`: those that cost more than they held draw further lots, one
-- call after the other in the order of the array. What the lots lack is owed.
create or replace function draw_overruns(p_calls uuid[], p_at timestamptz) returns void
language plpgsql
as $$
declare
    overrun record;
    unpaid bigint;
begin
    for overrun in
        select h.request_id, h.account_id, h.key_id, h.charged - h.amount as amount
        from unnest(p_calls) with ordinality u (id, at) join hold h on h.request_id = u.id
        where h.charged > h.amount order by u.at
    loop
        with further as (
            insert into entry (cause, kind, lot_id, account_id, key_id, amount, at)
            select overrun.request_id, 'overrun', d.lot_id, overrun.account_id, overrun.key_id, d.amount, p_at
            from draw_lots(overrun.account_id, overrun.key_id, overrun.amount) d
            returning amount)
        select overrun.amount - coalesce(sum(amount), 0) into unpaid from further;
        if unpaid > 0 then
            insert into entry (cause, kind, lot_id, account_id, key_id, amount, at)
            values (overrun.request_id, 'debt', 0, overrun.account_id, overrun.key_id, unpaid, p_at);
            update account_books set debt = debt + unpaid where account_id = overrun.account_id;
        end if;
    end loop;
end $$;
