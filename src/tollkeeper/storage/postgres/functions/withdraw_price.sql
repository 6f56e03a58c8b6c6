-- Verdicts: withdrawn, unknown, withdrawn_before, in_force (or so soon that nodes might not hear of it in time).
create or replace function withdraw_price(p_price bigint, p_reason text, p_actor text) returns text
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    found_price price;
begin
    select * into found_price from price where id = p_price for update;
    if not found then
        return 'unknown';
    end if;
    perform pg_advisory_xact_lock(hashtext('tollkeeper.audit'));
    if found_price.withdrawn_at is not null then
        return 'withdrawn_before';
    end if;
    if found_price.effective_from < ledger_clock() + time_to_tell_nodes() then
        return 'in_force';
    end if;
    update price set withdrawn_at = ledger_now(), withdrawn_by = p_actor, withdraw_reason = p_reason
    where id = p_price;
    -- Whoever was told of it is told of this.
    update price_announcement set done_at = null where price_id = p_price;
    perform append_audit(p_actor, 'price.withdraw', 'price:' || p_price, jsonb_build_object('reason', p_reason));
    return 'withdrawn';
end $$;
