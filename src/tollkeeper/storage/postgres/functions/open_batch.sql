-- A batch that has no codes yet. Under one name it is opened once: whoever asks again is told which it was.
create or replace function open_batch(
    p_codes integer, p_quota bigint, p_usd_micros bigint, p_months integer, p_note text, p_rewards boolean,
    p_valid_days integer, p_once text, p_reason text, p_actor text, out batch_id bigint, out was_before boolean)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
begin
    insert into redemption_batch (made_by, codes, quota, usd_micros, months, note, rewards, expires_at, once)
    values (p_actor, p_codes, p_quota, p_usd_micros, p_months, p_note, p_rewards,
            ledger_now() + make_interval(days => p_valid_days), p_once)
    on conflict (once) do nothing returning id into batch_id;
    was_before := batch_id is null;
    if was_before then
        select id into batch_id from redemption_batch where once = p_once;
        return;
    end if;
    perform append_audit(p_actor, 'codes.make', 'batch:' || batch_id, jsonb_build_object(
        'codes', p_codes, 'usd_micros', p_usd_micros, 'months', p_months, 'note', p_note, 'rewards', p_rewards)
        || case when p_valid_days is null then '{}'::jsonb else jsonb_build_object('valid_days', p_valid_days) end
        || case p_reason when '' then '{}'::jsonb else jsonb_build_object('reason', p_reason) end);
end $$;
