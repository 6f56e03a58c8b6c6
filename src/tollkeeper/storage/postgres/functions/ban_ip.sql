-- Several nodes may see an IP cross the line at once: the first bans it. Null where it is banned already. Only the
-- console acts for somebody; everything else is the doing of abuse control.
create or replace function ban_ip(
    p_ip text, p_seconds integer, p_why text, p_counted jsonb, p_account bigint, p_actor text) returns timestamptz
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    fresh ban;
begin
    perform pg_advisory_xact_lock(hashtext('tollkeeper.ban'), hashtext(p_ip));
    if exists (select from ban where ip = p_ip and until > ledger_now() and lifted_at is null) then
        return null;
    end if;
    insert into ban (ip, until, why, counted, account_id)
    values (p_ip, ledger_now() + make_interval(secs => p_seconds), p_why, p_counted, p_account)
    returning * into fresh;
    perform append_audit(
        case current_setting('role') when 'tollkeeper_console' then p_actor else 'abuse control' end,
        'ip.ban', 'ip:' || p_ip,
        jsonb_build_object('ban', fresh.id, 'until', fresh.until, 'why', p_why, 'counted', p_counted));
    return fresh.until;
end $$;
