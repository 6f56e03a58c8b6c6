-- Dropping a day needs the log to itself for a moment, so that comes last. It gives up soon where a long reader is in the
-- way: the settlements that would queue behind it matter more.
create or replace function drop_usage_day(p_day date, p_rows bigint, p_copy text) returns void
language plpgsql security definer
set search_path = tollkeeper, pg_temp set timezone = 'UTC' set lock_timeout = '200ms'
as $$
declare
    first_id uuid := uuid_floor(p_day);
    end_id uuid := uuid_floor(p_day + 1);
    name text := 'usage' || to_char(p_day, '_YYYYMMDD');
    found_rows bigint;
begin
    perform pg_advisory_xact_lock(hashtext('tollkeeper.usage_day'), p_day - date '2000-01-01');
    if not usage_day_is_closed(p_day) then
        raise exception 'the calls of % are not all settled yet', p_day using errcode = 'object_not_in_prerequisite_state';
    end if;
    -- From here until the drop nobody adds to it.
    if to_regclass('tollkeeper.' || name) is not null then
        execute format('lock table %I in share mode', name);
    end if;
    select count(*) into found_rows from usage where request_id >= first_id and request_id < end_id;
    if found_rows <> p_rows then
        raise exception '% rows of % were copied, and there are %', p_rows, p_day, found_rows
            using errcode = 'object_not_in_prerequisite_state';
    end if;
    delete from usage_other where request_id >= first_id and request_id < end_id;
    delete from usage_day where day = p_day;
    delete from usage_recounted where day = p_day;
    insert into usage_dropped values (p_day, p_copy) on conflict (day) do update set copy = excluded.copy;
    if to_regclass('tollkeeper.' || name) is not null then
        execute format('drop table %I', name);
    end if;
end $$;
