create or replace function give_gift_code() returns trigger
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
begin
    loop
        new.gift_code := gift_code_by_chance();
        exit when not exists (select from account where gift_code = new.gift_code);
    end loop;
    return new;
end $$;
