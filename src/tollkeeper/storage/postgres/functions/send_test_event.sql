-- An event that says nothing, for one webhook: its delivery. Null where there is no such webhook, or it is switched off.
create or replace function send_test_event(p_webhook bigint, p_actor text) returns bigint
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    fresh uuid;
    delivery bigint;
begin
    perform from webhook where id = p_webhook and disabled_at is null for key share;
    if not found then
        return null;
    end if;
    insert into webhook_event (kind, data)
    values ('webhook.test', jsonb_build_object('webhook', p_webhook)) returning id into fresh;
    insert into webhook_delivery (webhook_id, event_id) values (p_webhook, fresh) returning id into delivery;
    perform append_audit(p_actor, 'webhook.test', 'webhook:' || p_webhook, jsonb_build_object('delivery', delivery));
    return delivery;
end $$;
