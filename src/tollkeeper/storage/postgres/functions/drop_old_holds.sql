create or replace function drop_old_holds(before timestamp with time zone)
returns integer
language plpgsql
security definer
set search_path = tollkeeper, pg_temp
set timezone = 'UTC'
set lock_timeout = '200ms'
as $$
declare
    week regclass;
    open_still boolean;
    dropped integer := 0;
begin
    if before > ledger_now() then
        raise exception 'holds of the future are not old' using errcode = 'invalid_parameter_value';
    end if;
    for week in
        select c.oid::regclass from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'hold'::regclass and c.relname ~ '^hold_[0-9]{8}$'
          and to_date(right(c.relname, 8), 'YYYYMMDD') + interval '7 days' <= before
    loop
        execute format('select exists (select from %s where closed_at is null)', week) into open_still;
        if not open_still then
            execute format('drop table %s', week);
            dropped := dropped + 1;
        end if;
    end loop;
    delete from hold_other where closed_at is not null and request_id < uuid_floor(date_trunc('week', before));
    return dropped;
end $$;
