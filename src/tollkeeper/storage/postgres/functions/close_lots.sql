create or replace function close_lots(grace interval, most integer)
returns integer
language plpgsql
security definer
set search_path = tollkeeper, pg_temp
as $$
declare
    due bigint[] := array(select l.id from lot l where l.closed_at is null and l.expires_at <= ledger_now() - grace
                          order by l.expires_at limit most);
    act uuid := ledger_uuid();
    closed integer;
begin
    if grace is null or grace < interval '0' then
        raise exception 'lots are closed after their time, not before' using errcode = 'invalid_parameter_value';
    end if;
    perform from account_books where account_id in (select account_id from lot where id = any (due))
        order by account_id for update;
    with lapsed as (
        -- Read again under the lock: support may have extended one meanwhile.
        select id, account_id, remaining from lot
        where id = any (due) and closed_at is null and expires_at <= ledger_now() - grace for update),
    entries as (
        insert into entry (cause, kind, lot_id, account_id, amount, at)
        select act, 'expired', id, account_id, remaining, ledger_now() from lapsed where remaining > 0),
    ended as (
        update lot set remaining = 0, closed_at = ledger_now(), closed_as = 'expired'
        from lapsed where lot.id = lapsed.id returning lot.id)
    select count(*) into closed from ended;
    return closed;
end $$;
