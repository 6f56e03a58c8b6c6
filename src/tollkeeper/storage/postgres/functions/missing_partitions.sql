-- The partitions of the days ahead that are not there yet. The worker makes them, each in a transaction of its own.
create or replace function missing_partitions(at timestamptz)
returns table (parent text, since timestamptz, until timestamptz)
language sql stable security definer set search_path = tollkeeper, pg_temp set timezone = 'UTC'
as $$
    select distinct p.parent, p.since, p.until
    from generate_series(date_trunc('day', at) - interval '1 day', at + interval '7 days', '1 day') day,
    lateral (values
        ('usage', day, day + interval '1 day'),
        ('hold', date_trunc('week', day), date_trunc('week', day) + interval '7 days'),
        ('entry', date_trunc('month', day), date_trunc('month', day) + interval '1 month')) p (parent, since, until)
    where to_regclass('tollkeeper.' || p.parent || to_char(p.since, '_YYYYMMDD')) is null
    order by 1, 2
$$;
