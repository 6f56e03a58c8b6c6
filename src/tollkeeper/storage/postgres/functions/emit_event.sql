-- An event, for every webhook that wants its kind: in the transaction in which it happened, so that none is lost and none
-- told that did not happen. Where nobody wants it, nothing is written. A webhook that is just being removed is passed over.
create or replace function emit_event(p_kind text, p_data jsonb) returns void
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    wanted bigint[];
    fresh uuid;
begin
    select array_agg(id) into wanted from (
        select id from webhook where disabled_at is null and p_kind = any (kinds) for key share skip locked) w;
    if wanted is null then
        return;
    end if;
    insert into webhook_event (kind, data) values (p_kind, p_data) returning id into fresh;
    insert into webhook_delivery (webhook_id, event_id) select id, fresh from unnest(wanted) id;
end $$;
