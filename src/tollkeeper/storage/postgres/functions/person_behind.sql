-- The person behind a name of the audit trail: of an operator key, the login that it belongs to; of one that belongs to
-- none, whoever made it. A key that was made on the database's own host stands for itself, and so does any other name.
create or replace function person_behind(p_actor text) returns text
language plpgsql stable
as $$
declare
    person text := p_actor;
    maker text;
begin
    -- A key is made by an older one, so there is an end; and none is needed that is farther away.
    for step in 1..20 loop
        select coalesce('account:' || k.account_id, k.created_by) into maker
        from operator_key k where 'operator:' || k.name = person order by k.id desc limit 1;
        exit when maker is null or maker !~ '^(account|operator):' or maker = person;
        person := maker;
    end loop;
    return person;
end $$;
