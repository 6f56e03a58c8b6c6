-- Who a login of the audit trail (`account:7`) belongs to: logins whose e-mails reach one mailbox are one person. Any other
-- name stands for itself.
create or replace function person_of(p_actor text) returns text
language sql stable
as $$
    select coalesce((select 'person:' || encode(l.person, 'hex') from login l
                     where l.account_id = substring(p_actor from '^account:([0-9]{1,18})$')::bigint), p_actor)
$$;
