create or replace function put_on_record(p_actor text, p_action text, p_subject text, p_detail jsonb) returns void
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
begin
    if p_action in ('account.credit', 'account.invited', 'account.restrict', 'code.redeem', 'faucet.grant', 'ip.ban',
                    'provider.suspend', 'provider.lift_suspension', 'login.role')
       or split_part(p_action, '.', 1) in ('lot', 'codes', 'withdrawal', 'reward', 'top_up', 'price', 'dispute',
                                           'operator_key') then
        raise exception 'a row about % is written by what does it', p_action using errcode = 'insufficient_privilege';
    end if;
    -- The names under which other parts of the service act.
    if p_actor in ('gateway', 'worker', 'abuse control', 'dispute rule') then
        raise exception '% is not the name of a person', p_actor using errcode = 'insufficient_privilege';
    end if;
    perform append_audit(p_actor, p_action, p_subject, p_detail);
end $$;
