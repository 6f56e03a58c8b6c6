create or replace function record_table() returns trigger
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$ begin insert into change (kind, subject) values (tg_argv[0], 0); return null; end $$;
