-- Redeem a link: the login has the e-mail that was asked for, which whoever has the link can read. `p_person` is what the
-- faucet knows that e-mail's reader by. Verdicts: changed, taken (another login has it by now), over. Links that went to the
-- former e-mail are over.
create or replace function change_email(
    p_digest bytea, p_person bytea, out verdict text, out account bigint, out former text)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    asked email_change;
begin
    verdict := 'over';
    select c.account_id into account from mail_token t join email_change c on c.id = t.email_change_id
    where t.digest = p_digest;
    -- First the login, then what was asked: in the order in which a new password closes both.
    select l.email into former from login l where l.account_id = account for update;
    select c.* into asked from mail_token t join email_change c on c.id = t.email_change_id
    where t.digest = p_digest and t.expires_at > ledger_now() and c.closed_at is null
      and exists (select from account a where a.id = c.account_id and a.disabled_at is null)
    for update of c;
    if not found then
        return;
    end if;
    begin
        update login set email = asked.email, person = p_person, verified_at = ledger_now() where account_id = account;
    exception when unique_violation then
        verdict := 'taken';
        return;
    end;
    update email_change set closed_at = ledger_now() where id = asked.id;
    update mail_token set used_at = ledger_now() where account_id = account and used_at is null;
    verdict := 'changed';
end $$;
