-- A step of settle_batch, for calls that it settled at `p_at`: what they spent of lots that were revoked while they ran is
-- owed, as if it had been spent before.
create or replace function owe_revoked(p_calls uuid[], p_at timestamptz) returns void
language sql
as $$
    with clawed as (
        insert into entry (cause, kind, lot_id, account_id, key_id, amount, at)
        select e.cause, 'clawed', 0, e.account_id, e.key_id, sum(e.amount), p_at
        from entry e join lot l on l.id = e.lot_id
        where e.cause = any (p_calls) and e.kind = 'charged' and l.closed_as = 'revoked'
        group by e.cause, e.account_id, e.key_id
        returning account_id, amount)
    update account_books b set debt = b.debt + c.amount
    from (select account_id, sum(amount)::bigint as amount from clawed group by 1) c
    where b.account_id = c.account_id
$$;
