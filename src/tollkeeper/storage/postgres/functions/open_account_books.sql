-- An account or key is never without its books.
create or replace function open_account_books() returns trigger
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$ begin insert into account_books (account_id) select id from fresh; return null; end $$;
