-- Of a row that came or changed: the event of that kind (the first argument) with some of its columns (the others, each
-- under its own name or, behind a colon, another).
create or replace function tell_webhooks() returns trigger
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    columns jsonb := to_jsonb(new);
begin
    perform emit_event(tg_argv[0], (
        select jsonb_object_agg(split_part(named || ':' || named, ':', 2), columns -> split_part(named, ':', 1))
        from unnest(tg_argv[1:]) named));
    return null;
end $$;
