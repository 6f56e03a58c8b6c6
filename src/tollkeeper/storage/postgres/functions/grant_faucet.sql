-- A key with a lot bound to it, and a quota of just that lot. Verdicts: granted, unverified, too_soon, network_full,
-- day_full (these three with when to come again), unknown_account, account_disabled. Those who ask wait for each other.
create or replace function grant_faucet(
    p_account bigint, p_network text, p_wide_network text, p_name text, p_pepper_version smallint, p_digest bytea,
    p_hint text, p_amount bigint, p_days integer, p_network_most integer, p_wide_network_most integer,
    p_day_most integer, p_actor text,
    out verdict text, out key_id bigint, out until timestamptz)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    into_lot bigint;
    who bytea := (select person from login where account_id = p_account);
    day_ago timestamptz := ledger_now() - interval '24 hours';
    last_grant timestamptz;
    -- Of the grant with whose end there is room again.
    network_full timestamptz;
    wide_network_full timestamptz;
    day_full timestamptz;
begin
    perform pg_advisory_xact_lock(hashtext('tollkeeper.faucet'));
    perform from account_books where account_id = p_account for update;
    select max(at) into last_grant from faucet_grant where account_id = p_account or person = who;
    select at into network_full from faucet_grant
    where network = p_network and at > day_ago order by at desc offset p_network_most - 1 limit 1;
    select at into wide_network_full from faucet_grant
    where wide_network = p_wide_network and at > day_ago order by at desc offset p_wide_network_most - 1 limit 1;
    select at into day_full from faucet_grant where at > day_ago order by at desc offset p_day_most - 1 limit 1;
    network_full := greatest(network_full, wide_network_full);
    select case when a.disabled_at is not null then 'account_disabled'
                when l.verified_at is null then 'unverified'
                when last_grant > day_ago then 'too_soon'
                when network_full is not null then 'network_full'
                when day_full is not null then 'day_full'
                else 'granted' end
    into verdict from account a left join login l on l.account_id = a.id where a.id = p_account;
    verdict := coalesce(verdict, 'unknown_account');
    if verdict <> 'granted' then
        until := interval '24 hours' + case verdict when 'too_soon' then last_grant when 'network_full' then network_full
                                                    when 'day_full' then day_full end;
        return;
    end if;
    until := ledger_now() + make_interval(days => p_days);
    insert into api_key (account_id, name, pepper_version, digest, hint, quota, expires_at)
    values (p_account, p_name, p_pepper_version, p_digest, p_hint, p_amount, until) returning id into key_id;
    select lot_id into into_lot from credit(p_account, key_id, p_amount, 'faucet', key_id::text, 0, p_days);
    insert into faucet_grant (account_id, key_id, lot_id, network, wide_network, person, at)
    values (p_account, key_id, into_lot, p_network, p_wide_network, who, ledger_now());
    perform append_audit(p_actor, 'faucet.grant', 'account:' || p_account, jsonb_build_object(
        'key', key_id, 'lot', into_lot, 'amount', p_amount, 'until', until));
end $$;
