-- Verdicts: revoked, revoked_before, unknown. What of it was spent, or paid out, is owed or, by choice, written off.
create or replace function revoke_reward(
    p_reward bigint, p_write_off boolean, p_why text, p_actor text,
    out verdict text, out kind text, out taken_back bigint, out owed bigint, out written_off bigint)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    of_account bigint := (select account_id from reward where id = p_reward);
begin
    perform from account_books where account_id = of_account for update;
    select r.verdict, r.kind, r.taken_back, r.owed, r.written_off
    into revoke_reward.verdict, revoke_reward.kind, revoke_reward.taken_back, revoke_reward.owed,
         revoke_reward.written_off
    from take_reward_back(p_reward, p_write_off, p_why, p_actor) r;
    perform pay_debt(of_account);
end $$;
