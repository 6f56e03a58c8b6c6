-- The person behind a name of the audit trail: the login that an operator key belongs to, or whose owner made it. Any
-- other name stands for itself.
create or replace function person_behind(p_actor text) returns text
language sql stable
as $$
    select coalesce(
        (select coalesce('account:' || k.account_id, case when k.created_by like 'account:%' then k.created_by end)
         from operator_key k where 'operator:' || k.name = p_actor order by k.id desc limit 1),
        p_actor)
$$;
