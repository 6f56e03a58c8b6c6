-- Take the seals from a day on away, so that those days are checked whole and sealed anew. How many that were.
create or replace function reopen_books(p_since date, p_reason text, p_actor text) returns integer
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    reopened integer;
begin
    perform pg_advisory_xact_lock(hashtext('tollkeeper.books_seal'));
    delete from books_seal where day >= p_since;
    get diagnostics reopened = row_count;
    delete from books_mark;
    if reopened > 0 then
        perform append_audit(p_actor, 'books.reopen', 'day:' || p_since, jsonb_build_object(
            'reason', p_reason, 'days', reopened,
            'head', coalesce((select encode(mac, 'hex') from books_seal order by day desc limit 1), '')));
    end if;
    return reopened;
end $$;
