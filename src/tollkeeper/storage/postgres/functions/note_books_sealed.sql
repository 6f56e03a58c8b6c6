-- Put on record up to which day the books are sealed, and the last seal's MAC: whoever takes seals away has to rewrite
-- the audit trail, too.
create or replace function note_books_sealed(p_day date, p_head text, p_actor text) returns void
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
begin
    perform append_audit(p_actor, 'books.seal', 'day:' || p_day, jsonb_build_object('head', p_head));
end $$;
