-- What was added up by hours before, by days. In a transaction after the one that replaced `add_up_providers`: whoever was in
-- the old one has come to its end when the lock is had here, and what it added to the hours is seen.
set local lock_timeout = '60s';
select pg_advisory_xact_lock(hashtext('tollkeeper.provider_horizon'));
delete from provider_day;
insert into provider_day
select h.day, h.account, h.model_id, h.attempts, h.failed, h.delivered, h.input_units, h.output_units, h.charged, h.cost,
       (select array_agg(times order by bucket)
        from (select bucket, sum(counted)::bigint as times
              from provider_hour o, unnest(o.first_byte) with ordinality each_of (counted, bucket)
              where o.account = h.account and o.model_id = h.model_id
                and o.hour >= h.day::timestamp at time zone 'UTC' and o.hour < (h.day + 1)::timestamp at time zone 'UTC'
              group by bucket) summed)
from (select (hour at time zone 'UTC')::date as day, account, model_id, sum(attempts) as attempts, sum(failed) as failed,
             sum(delivered) as delivered, sum(input_units) as input_units, sum(output_units) as output_units,
             sum(charged) as charged, sum(cost) as cost
      from provider_hour group by 1, account, model_id) h;
