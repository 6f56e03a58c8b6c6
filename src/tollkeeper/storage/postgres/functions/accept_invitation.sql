-- An account that was opened by an invite. Said once, before its first top-up; whether it was taken.
create or replace function accept_invitation(p_account bigint, p_gift_code text, p_actor text) returns boolean
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    inviter bigint;
begin
    perform pg_advisory_xact_lock(hashtext('tollkeeper.partners'));
    select id into inviter from account where gift_code = p_gift_code and disabled_at is null and id <> p_account;
    if inviter is null or exists (select from top_up where account_id = p_account)
       or are_one_person(inviter, p_account) or descends_from(inviter, p_account) <> 'no' then
        return false;
    end if;
    update account set invited_by = inviter where id = p_account and invited_by is null;
    if not found then
        return false;
    end if;
    perform append_audit(p_actor, 'account.invited', 'account:' || p_account, jsonb_build_object('by', inviter));
    return true;
end $$;
