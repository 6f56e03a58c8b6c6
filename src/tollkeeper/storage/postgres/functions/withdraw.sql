-- Verdicts: requested, requested_before, factor_too_new (until then), owed, short, unknown_account, account_disabled.
-- A second factor that is new may be that of somebody who took the login over: its owner has three days to notice.
create or replace function withdraw(
    p_account bigint, p_usd_micros bigint, p_payee text, p_actor text,
    out verdict text, out withdrawal_id bigint, out available bigint, out until timestamptz)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
begin
    perform from account_books where account_id = p_account for update;
    select case when disabled_at is not null then 'account_disabled' end into verdict from account where id = p_account;
    if not found then
        verdict := 'unknown_account';
    end if;
    if verdict is not null then
        return;
    end if;
    select s.available into withdraw.available from cash_standing(p_account) s;
    select totp_confirmed_at + interval '72 hours' into until from login
    where account_id = p_account and totp_confirmed_at > ledger_now() - interval '72 hours';
    select id into withdrawal_id from withdrawal
    where account_id = p_account and state in ('requested', 'approved');
    verdict := case when found then 'requested_before' when until is not null then 'factor_too_new'
                    when available < 0 then 'owed' when available < p_usd_micros then 'short' else 'requested' end;
    if verdict = 'requested' then
        insert into withdrawal (account_id, usd_micros, payee) values (p_account, p_usd_micros, p_payee)
        returning id into withdrawal_id;
        perform append_audit(p_actor, 'withdrawal.request', 'withdrawal:' || withdrawal_id, jsonb_build_object(
            'account', p_account, 'usd_micros', p_usd_micros, 'payee', p_payee));
    end if;
end $$;
