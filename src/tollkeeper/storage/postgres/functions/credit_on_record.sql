create or replace function credit_on_record(
    p_account bigint, p_key bigint, p_amount bigint, p_source text, p_source_id text, p_months integer, p_days integer,
    p_actor text, p_reason text default '', out lot_id bigint, out lot_expires_at timestamptz, out replayed boolean)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
begin
    if p_months < 0 or p_days < 0 then
        raise exception 'quota that has expired already' using errcode = 'invalid_parameter_value';
    end if;
    select c.lot_id, c.lot_expires_at, c.replayed
    into credit_on_record.lot_id, credit_on_record.lot_expires_at, credit_on_record.replayed
    from credit(p_account, p_key, p_amount, p_source, p_source_id, p_months, p_days) c;
    if not replayed then
        perform append_audit(p_actor, 'account.credit', 'account:' || p_account, jsonb_build_object(
            'amount', p_amount, 'source', p_source, 'source_id', p_source_id)
            || case p_reason when '' then '{}'::jsonb else jsonb_build_object('reason', p_reason) end);
    end if;
end $$;
