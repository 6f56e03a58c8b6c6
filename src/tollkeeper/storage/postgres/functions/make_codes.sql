create or replace function make_codes(
    p_digests bytea[], p_quota bigint, p_usd_micros bigint, p_months integer, p_note text, p_rewards boolean,
    p_actor text)
returns bigint
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    fresh bigint;
begin
    insert into redemption_batch (made_by, codes, quota, usd_micros, months, note, rewards)
    values (p_actor, cardinality(p_digests), p_quota, p_usd_micros, p_months, p_note, p_rewards) returning id into fresh;
    insert into redemption_code (batch_id, digest) select fresh, d from unnest(p_digests) d;
    perform append_audit(p_actor, 'codes.make', 'batch:' || fresh, jsonb_build_object(
        'codes', cardinality(p_digests), 'usd_micros', p_usd_micros, 'months', p_months, 'note', p_note,
        'rewards', p_rewards));
    return fresh;
end $$;
