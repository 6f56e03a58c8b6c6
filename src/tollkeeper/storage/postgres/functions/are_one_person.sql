-- Whether the e-mails of two accounts reach one person.
create or replace function are_one_person(p_one bigint, p_other bigint) returns boolean
language sql stable
as $$
    select exists (select from login one join login other on other.person = one.person
                   where one.account_id = p_one and other.account_id = p_other)
$$;
