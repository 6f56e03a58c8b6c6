-- The people (person_of) behind a name of the audit trail at a time: first whom it belongs to, then whoever made its operator
-- key, and the keys by which that was made. A key that belongs to no login is nobody's: the first is null.
create or replace function people_behind(p_actor text, p_at timestamptz) returns text[]
language plpgsql stable
as $$
declare
    people text[] := '{}';
    who text := p_actor;
    -- A name can be given again once its key was revoked: whose it was is asked of the time when it acted.
    acted_at timestamptz := p_at;
    found_key operator_key;
begin
    -- A key is made by an older one, so there is an end; and none is needed that is farther away.
    for step in 1..20 loop
        exit when who !~ '^operator:';
        select * into found_key from operator_key k
        where 'operator:' || k.name = who and k.created_at <= acted_at order by k.id desc limit 1;
        exit when not found;
        people := array_append(people, person_of('account:' || found_key.account_id));
        who := found_key.created_by;
        acted_at := found_key.created_at;
    end loop;
    return case when who ~ '^operator:' then people else array_append(people, person_of(who)) end;
end $$;
