-- What came of an attempt. `p_error` is null where it was taken; else it is tried again after `p_wait`, or never where that
-- is null. A webhook is switched off where its receiver said that it is gone, or took nothing for `p_patience`: then it
-- says why, and the audit trail too.
create or replace function note_delivery(
    p_delivery bigint, p_attempt integer, p_status integer, p_error text, p_wait interval, p_gone boolean,
    p_patience interval, out switched_off boolean)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    receiver webhook;
    why text;
begin
    switched_off := false;
    -- A claim that ran out may be another's by now; but what was taken was taken.
    update webhook_delivery set
        last_status = p_status, last_error = left(p_error, 200), last_try_at = ledger_now(),
        delivered_at = case when p_error is null then ledger_now() end,
        given_up_at = case when p_error is not null and p_wait is null then ledger_now() end,
        next_try_at = case when p_error is null then next_try_at else ledger_now() + coalesce(p_wait, interval '0') end
    where id = p_delivery and delivered_at is null and (attempts = p_attempt or p_error is null);
    select w.* into receiver from webhook w join webhook_delivery d on d.webhook_id = w.id
    where d.id = p_delivery for no key update of w;
    if not found then
        return;
    end if;
    if p_error is null then
        update webhook set failing_since = null where id = receiver.id and failing_since is not null;
        return;
    end if;
    if receiver.failing_since is null then
        update webhook set failing_since = ledger_now() where id = receiver.id returning * into receiver;
    end if;
    why := case when p_gone then 'its receiver answered 410 (gone)'
                when receiver.failing_since < ledger_now() - p_patience
                    then 'its receiver took nothing for ' || extract(day from p_patience) || ' days' end;
    if why is not null and receiver.disabled_at is null then
        update webhook set disabled_at = ledger_now(), disabled_because = why where id = receiver.id;
        perform append_audit('worker', 'webhook.switch_off', 'webhook:' || receiver.id, jsonb_build_object('why', why));
        switched_off := true;
    end if;
end $$;
