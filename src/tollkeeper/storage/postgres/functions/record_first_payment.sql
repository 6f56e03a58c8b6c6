create or replace function record_first_payment() returns trigger
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
begin
    if not exists (
        select from lot where account_id = new.account_id and source not in ('faucet', 'gift', 'dispute') and id <> new.id
    ) then
        insert into change (kind, subject) values ('account', new.account_id);
    end if;
    return null;
end $$;
