-- How many of these times are in each bucket of `core/pool/latency`: 0 below 25 ms, and so on by factors of the square root
-- of two; the last from 51,200 ms on.
create or replace function first_byte_counts(p_ms integer[]) returns bigint[]
language sql immutable parallel safe set search_path = tollkeeper, pg_temp
as $$
    select array_agg(coalesce(c.times, 0) order by b.bucket)
    from generate_series(0, 23) b (bucket)
    left join (select width_bucket(ms, array[25, 35, 50, 71, 100, 141, 200, 283, 400, 566, 800, 1131, 1600, 2263, 3200,
                                             4525, 6400, 9051, 12800, 18102, 25600, 36204, 51200]) as bucket,
                      count(*) as times
               from unnest(p_ms) ms where ms is not null group by 1) c using (bucket)
$$;
