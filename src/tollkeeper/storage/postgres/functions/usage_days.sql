-- The days that the log has a table for, or rows of in the default partition.
create or replace function usage_days() returns setof date
language sql stable security definer set search_path = tollkeeper, pg_temp set timezone = 'UTC'
as $$
    with recursive other (day) as (
        (select usage_day_of(request_id) from usage_other order by request_id limit 1)
        union all
        select (select usage_day_of(u.request_id) from usage_other u where u.request_id >= uuid_floor(other.day + 1)
                order by u.request_id limit 1)
        from other where other.day is not null)
    select to_date(right(c.relname, 8), 'YYYYMMDD')
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'usage'::regclass and c.relname ~ '^usage_[0-9]{8}$'
    union
    select day from other where day is not null
$$;
