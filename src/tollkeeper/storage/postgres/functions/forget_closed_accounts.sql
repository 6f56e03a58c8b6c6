-- Remove what of a person is kept with accounts that were closed before `p_before`, at most `p_most` of them; how many that
-- was. The number of the account, its keys' digests and everything of the books stay.
create or replace function forget_closed_accounts(p_before timestamptz, p_most integer) returns integer
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    gone bigint[];
begin
    select coalesce(array_agg(id), '{}') into gone from (
        select a.id from account a
        where a.closed_at < p_before and exists (select from login l where l.account_id = a.id)
        order by a.closed_at limit p_most for update of a skip locked) due;
    delete from recovery_code where account_id = any (gone);
    delete from passkey where account_id = any (gone);
    delete from session where account_id = any (gone);
    delete from mail_token where account_id = any (gone);
    delete from email_change where account_id = any (gone);
    delete from login where account_id = any (gone);
    delete from notice_choice where account_id = any (gone);
    update dispute set note = '' where account_id = any (gone) and note <> '';
    update account set name = 'Closed account' where id = any (gone);
    update api_key set name = 'closed', only_networks = null where account_id = any (gone);
    perform append_audit('worker', 'account.forget', 'account:' || id, '{}') from unnest(gone) id;
    return cardinality(gone);
end $$;
