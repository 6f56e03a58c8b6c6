-- Making one needs the table to itself for a moment. It gives up soon where a long reader is in the way: calls that
-- would queue behind it matter more, and there is a week's time to try again.
create or replace function make_partition(parent text, since timestamptz, until timestamptz) returns void
language plpgsql security definer
set search_path = tollkeeper, pg_temp set timezone = 'UTC' set lock_timeout = '200ms'
as $$
declare
    name text := parent || to_char(since, '_YYYYMMDD');
begin
    if parent not in ('hold', 'entry', 'usage') or to_regclass('tollkeeper.' || name) is not null then
        return;
    end if;
    execute format('create table %I partition of %I for values from (%L) to (%L)',
                   name, parent, uuid_floor(since), uuid_floor(until));
    if parent = 'hold' then
        execute format('alter table %I set (fillfactor = 70)', name);
    end if;
exception when check_violation then
    -- The default partition has rows of that time already, and goes on taking them.
    raise warning 'partition % was not made: the default partition of % has rows of its time', name, parent;
end $$;
