-- A member of staff asks that an account's second factor, or its passkeys, be dropped; another confirms it within a day.
-- Verdicts: asked, done (commands on the database's own host act alone), asked_before, nothing_there, unknown (no login).
create or replace function ask_reset(
    p_account bigint, p_what text, p_reason text, p_actor text, out verdict text, out reset_id bigint)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    whose login;
    is_alone boolean := p_actor like 'cli:%';
begin
    select * into whose from login where account_id = p_account for no key update;
    verdict := case
        when whose.account_id is null then 'unknown'
        when p_what = 'second_factor' and whose.totp_confirmed_at is null
            or p_what = 'passkeys' and not exists (select from passkey where account_id = p_account) then 'nothing_there'
        when is_alone then 'done'
        when exists (select from factor_reset where account_id = p_account and what = p_what and outcome is null
                     and expires_at > ledger_now()) then 'asked_before'
        else 'asked' end;
    if verdict not in ('asked', 'done') then
        return;
    end if;
    insert into factor_reset (account_id, what, reason, asked_by) values (p_account, p_what, p_reason, p_actor)
    returning id into reset_id;
    perform append_audit(p_actor, 'login.reset_ask', 'account:' || p_account, jsonb_build_object(
        'reset', reset_id, 'what', p_what, 'reason', p_reason));
    if is_alone then
        update factor_reset set outcome = 'done', decided_at = ledger_now(), decided_by = p_actor, decide_reason = p_reason
        where id = reset_id;
    else
        insert into outbox (kind, email) values ('reset_asked', whose.email);
    end if;
end $$;
