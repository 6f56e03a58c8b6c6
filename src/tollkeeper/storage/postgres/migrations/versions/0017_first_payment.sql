-- Nodes keep in memory whether an account has ever had quota that was neither poured by the faucet nor given as a gift.
-- The first such lot changes that, so it is told like any other change of an account.

create function record_first_payment() returns trigger
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
begin
    if not exists (
        select from lot where account_id = new.account_id and source not in ('faucet', 'gift') and id <> new.id
    ) then
        insert into change (kind, subject) values ('account', new.account_id);
    end if;
    return null;
end $$;

create trigger tell_of_first_payment after insert on lot
    for each row when (new.source not in ('faucet', 'gift')) execute function record_first_payment();
