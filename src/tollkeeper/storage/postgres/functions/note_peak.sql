-- What a gateway saw since it told last. Rows are sorted, so that two gateways never wait for each other in a circle.
create or replace function note_peak(p_account bigint[], p_ip text[], p_milliseconds integer[]) returns void
language sql security definer set search_path = tollkeeper, pg_temp
as $$
    insert into peak_minute (account_id, minute, ip, milliseconds)
    select account_id, date_trunc('minute', ledger_now()), left(ip, 64), least(sum(milliseconds), 1000000)
    from unnest(p_account, p_ip, p_milliseconds) seen (account_id, ip, milliseconds)
    where exists (select from account where id = account_id)
    group by account_id, left(ip, 64) order by account_id, left(ip, 64)
    on conflict (account_id, minute, ip) do update
    set milliseconds = least(peak_minute.milliseconds::bigint + excluded.milliseconds, 1000000)
$$;
