-- Events of provider accounts that no process of the gateway gives calls (`p_out`, with why in `p_because`): each once, and
-- again only after no process said ill of it (`p_ill`) for a minute, so one that comes and goes is not told of all the
-- time. Of one that is suspended or not in use nothing is told. How many events there were.
create or replace function note_outages(p_out text[], p_because text[], p_ill text[]) returns integer
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    outage record;
    told integer := 0;
begin
    perform pg_advisory_xact_lock(hashtext('tollkeeper.provider_outage'));
    update provider_outage o set ill_at = ledger_now() from provider_account a
    where a.id = o.provider_account_id and a.name = any (p_ill);
    delete from provider_outage where ill_at < ledger_now() - interval '1 minute';
    for outage in
        with fresh as (
            insert into provider_outage (provider_account_id)
            select id from provider_account where name = any (p_out) and suspended_at is null and state = 'active'
            on conflict do nothing returning provider_account_id)
        select a.id, a.name, o.because
        from fresh join provider_account a on a.id = fresh.provider_account_id
        join unnest(p_out, p_because) o (name, because) on o.name = a.name order by a.id
    loop
        perform emit_event('provider.out', jsonb_build_object(
            'provider_account', outage.id, 'name', outage.name, 'suspended_at', null, 'because', outage.because));
        told := told + 1;
    end loop;
    return told;
end $$;
