-- Whether an account got anything, over however many others, through `p_from`: yes, no or, where looking would take too
-- long, unknown. First from `p_from` on, for most have nobody who got anything through them; then from the account back.
-- Both stop where they meet the other.
create or replace function descends_from(p_account bigint, p_from bigint) returns text
language plpgsql stable
as $$
declare
    answer text;
begin
    with recursive after (id) as (
        select p_from
        union
        select further.id from after b, lateral (
            select a.id from account a where a.invited_by = b.id
            union all
            select t.account_id from top_up t where t.giver_id = b.id) further (id))
    select case when id = p_account then 'yes' else 'unknown' end into answer
    from (select id, row_number() over () as place from after limit partners_looked_at()) seen
    where id = p_account or place = partners_looked_at() limit 1;
    if answer is distinct from 'unknown' then
        return coalesce(answer, 'no');
    end if;
    with recursive before (id) as (
        select p_account
        union
        select through.id from before b, lateral (
            select a.invited_by from account a where a.id = b.id and a.invited_by is not null
            union all
            select t.giver_id from top_up t where t.account_id = b.id and t.giver_id is not null) through (id))
    select case when id = p_from then 'yes' else 'unknown' end into answer
    from (select id, row_number() over () as place from before limit partners_looked_at()) seen
    where id = p_from or place = partners_looked_at() limit 1;
    return coalesce(answer, 'no');
end $$;
