-- A top-up whose payment was taken back: its lot, and every reward that came of it. Verdicts: revoked, revoked_before,
-- unknown. What was spent, or paid out, is owed or, by choice, written off.
create or replace function revoke_top_up(
    p_top_up bigint, p_write_off boolean, p_why text, p_actor text,
    out verdict text, out taken_back bigint, out owed bigint, out written_off bigint, out rewards bigint)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    given top_up;
    concerned bigint[];
begin
    select * into given from top_up where id = p_top_up;
    if not found then
        verdict := 'unknown';
        return;
    end if;
    concerned := array(select given.account_id union select account_id from reward where top_up_id = p_top_up);
    perform from account_books where account_id = any (concerned) order by account_id for update;
    if exists (select from top_up_revocation where top_up_id = p_top_up) then
        verdict := 'revoked_before';
        return;
    end if;
    select l.taken_back, l.owed, l.written_off
    into revoke_top_up.taken_back, revoke_top_up.owed, revoke_top_up.written_off
    from take_lot_back(given.lot_id, p_write_off) l;
    select count(*) into rewards
    from (select id from reward where top_up_id = p_top_up and revoked_at is null order by id) r,
         take_reward_back(r.id, p_write_off, p_why, p_actor);
    -- Not before all of it is closed: one lot that goes must not pay for another.
    perform pay_debt(of_account) from unnest(concerned) of_account;
    insert into top_up_revocation (top_up_id, revoked_by, why, taken_back, owed, written_off)
    values (p_top_up, p_actor, p_why, revoke_top_up.taken_back, revoke_top_up.owed, revoke_top_up.written_off);
    verdict := 'revoked';
    perform append_audit(p_actor, 'top_up.revoke', 'top_up:' || p_top_up, jsonb_build_object(
        'account', given.account_id, 'lot', given.lot_id, 'taken_back', taken_back, 'owed', owed,
        'written_off', written_off, 'rewards', rewards, 'reason', p_why));
end $$;
