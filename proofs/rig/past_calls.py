"""A past for a database: the calls of days gone by, written by one statement for each day instead of one by one."""

# Calls between $1 and $2, $3 of them, by $4 accounts counted from 1: few call much, many little; one in fifty fails.
# In the order of their time, as real calls would stand in their tables.
CALLS = """
select r.n, r.account, r.at,
       (left(replace(uuid_floor(r.at)::text, '-', ''), 13)
        || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid as request_id,
       case when r.n % 50 = 0 then (array['upstream_broke', 'client_left', 'cut'])[1 + r.n / 50 % 3]
            else 'completed' end as ending
from (select n, 1 + floor(power(random(), 3) * $4::int)::bigint as account,
             $1::timestamptz + random() * ($2::timestamptz - $1::timestamptz) as at
      from generate_series(1, $3::int) n) r
order by r.at
"""
