-- No key gets a text under a pepper that was given up: nodes without it would answer that key with 401.
create or replace function refuse_retired_pepper() returns trigger
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    retired smallint;
begin
    if tg_op = 'INSERT' then
        select version into retired from pepper_retired join fresh on version = pepper_version limit 1;
    else
        select version into retired
        from pepper_retired join fresh on version = fresh.pepper_version join gone on gone.id = fresh.id
        where gone.digest <> fresh.digest limit 1;
    end if;
    if retired is not null then
        raise exception 'pepper % was retired; name another in TOLLKEEPER_PEPPER_IN_USE where this was asked', retired;
    end if;
    return null;
end $$;
