-- The feed keeps an hour: a reader that was away for longer drops its snapshots whole.
create or replace function trim_changes() returns void
language sql security definer set search_path = tollkeeper, pg_temp
as $$ delete from change where at < now() - interval '1 hour' $$;
