-- revoke_reward but for the debts that it brings about.
create or replace function take_reward_back(
    p_reward bigint, p_write_off boolean, p_why text, p_actor text,
    out verdict text, out kind text, out taken_back bigint, out owed bigint, out written_off bigint)
language plpgsql
as $$
declare
    given reward;
    spendable bigint;
begin
    select * into given from reward where id = p_reward for update;
    kind := given.kind;
    if given.id is null or given.revoked_at is not null then
        verdict := case when given.id is null then 'unknown' else 'revoked_before' end;
        return;
    end if;
    if given.kind = 'referral_cash' then
        -- Nobody has been paid what is pending; what is approved is as good as paid.
        spendable := case when given.available_at > ledger_now() then given.amount else
            greatest(0, (select available from cash_standing(given.account_id)) - (
                select coalesce(sum(usd_micros), 0) from withdrawal
                where account_id = given.account_id and state = 'approved')) end;
        written_off := case when p_write_off then greatest(0, given.amount - spendable) else 0 end;
        taken_back := given.amount - written_off;
        owed := greatest(0, taken_back - spendable);
        insert into cash_entry (account_id, kind, usd_micros, reward_id)
        select given.account_id, 'revoked', taken_back, given.id where taken_back > 0;
    else
        select l.taken_back, l.owed, l.written_off
        into take_reward_back.taken_back, take_reward_back.owed, take_reward_back.written_off
        from take_lot_back(given.lot_id, p_write_off) l;
    end if;
    update reward r set revoked_at = ledger_now(), revoked_by = p_actor, why = p_why,
        taken_back = take_reward_back.taken_back, owed = take_reward_back.owed,
        written_off = take_reward_back.written_off
    where r.id = p_reward;
    verdict := 'revoked';
    perform append_audit(p_actor, 'reward.revoke', 'reward:' || p_reward, jsonb_build_object(
        'account', given.account_id, 'kind', given.kind, 'taken_back', taken_back, 'owed', owed,
        'written_off', written_off, 'reason', p_why));
end $$;
