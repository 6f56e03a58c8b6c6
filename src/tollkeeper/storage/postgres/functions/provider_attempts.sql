-- Every attempt of the calls from `p_first` on and before `p_end`, as figures count it. A refusal of what the caller sent
-- (400, 413, 422) is no failure of the account, nor is a call that ended by the caller's doing, by a limit of the caller's
-- (`max_charge`) or by ours. What a call was charged belongs to the attempt that answered it, its last.
-- `failure`: what kind of failure it was; null for none. `was_last`: no other attempt made up for it.
create or replace function provider_attempts(p_first uuid, p_end uuid)
returns table (request_id uuid, hour timestamptz, account text, model_id text, failed boolean, delivered boolean,
               first_byte_ms integer, input_units bigint, output_units bigint, charged bigint, cost bigint,
               failure text, was_last boolean)
language sql stable set search_path = tollkeeper, pg_temp
as $$
    select u.request_id, date_trunc('hour', u.started_at, 'UTC'), a.told ->> 'account', coalesce(p.model_id, ''),
           f.failed, is_last and u.ending <> 'refused', (a.told ->> 'first_byte_ms')::integer,
           case when is_last then u.input_units else 0 end, case when is_last then u.output_units else 0 end,
           case when is_last then u.charged else 0 end, coalesce((a.told ->> 'cost')::bigint, 0),
           case when not f.failed then null
                when a.told ->> 'outcome' <> 'refused' then a.told ->> 'outcome'
                when a.told ->> 'status' = '429' then 'busy'
                when a.told ->> 'status' in ('401', '402') then 'key_refused'
                when a.told ->> 'status' like '5__' then 'server'
                else 'refused' end,
           is_last
    from usage u
    left join price p on p.id = u.price_id
    cross join jsonb_array_elements(u.attempts) with ordinality a (told, place)
    cross join lateral (select a.place = jsonb_array_length(u.attempts) as is_last) l
    cross join lateral (
        select a.told ->> 'outcome' not in
                   ('completed', 'client_left', 'cut', 'time_limit', 'quota_ran_out', 'max_charge', 'revoked',
                    'node_stopped', 'owner_died')
               and coalesce(a.told ->> 'status', '') not in ('400', '413', '422') as failed) f
    where u.request_id >= p_first and u.request_id < p_end
$$;
