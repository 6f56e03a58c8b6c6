create or replace function open_key_books() returns trigger
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$ begin insert into key_books (key_id) select id from fresh; return null; end $$;
