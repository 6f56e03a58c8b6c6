create or replace function usage_day_of(id uuid) returns date
language sql immutable strict parallel safe
return (to_timestamp(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000.0) at time zone 'UTC')::date;
