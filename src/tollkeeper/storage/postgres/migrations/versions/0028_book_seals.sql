-- Seals: a closed day of the books that was found clean is not compared row by row again while its rows are the same.
--
-- Rules of this schema
-- 1. A seal says what a day's rows were: how many, what they add up to, and a SHA-256 of all their columns. Its MAC covers
--    all seals before it, under a key that the database does not have.
-- 2. The mark says by what it is seen, without reading every column, that nobody wrote to sealed days since the last check: the
--    transaction before which all of their rows were written, the tables they lie in, and how many each has.
-- 3. Up to which day the books are sealed is on record in the audit trail as well.
create table books_seal (
    day         date primary key,
    contents    text not null,
    key_version integer not null,
    mac         bytea not null,
    sealed_at   timestamptz not null default now()
);

-- One row at most.
create table books_mark (
    mark        text not null,
    key_version integer not null,
    mac         bytea not null
);
create unique index books_mark_is_one on books_mark ((true));

-- Put on record up to which day the books are sealed, and the last seal's MAC: whoever takes seals away has to rewrite
-- the audit trail, too.
create or replace function note_books_sealed(p_day date, p_head text, p_actor text) returns void
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
begin
    perform append_audit(p_actor, 'books.seal', 'day:' || p_day, jsonb_build_object('head', p_head));
end $$;

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

-- Grants ----------------------------------------------------------------------------------------------------------------
grant select, insert, update (key_version, mac) on books_seal to tollkeeper_worker;
grant select, insert, update on books_mark to tollkeeper_worker;
grant execute on function note_books_sealed(date, text, text), reopen_books(date, text, text) to tollkeeper_worker;
