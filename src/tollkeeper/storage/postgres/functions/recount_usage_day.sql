-- The accounts behind `p_after`, whole accounts until there were about `p_rows` rows. The last account done, or null when
-- the day is complete. Two workers at the same day take turns, and write the same.
create or replace function recount_usage_day(p_day date, p_after bigint, p_rows integer) returns bigint
language plpgsql security definer set search_path = tollkeeper, pg_temp set timezone = 'UTC'
as $$
declare
    first_id uuid := uuid_floor(p_day);
    end_id uuid := uuid_floor(p_day + 1);
    last_account bigint;
begin
    perform pg_advisory_xact_lock(hashtext('tollkeeper.usage_day'), p_day - date '2000-01-01');
    if not usage_day_is_closed(p_day) or end_id > (select id from usage_horizon) then
        raise exception 'the calls of % are not all settled and added up yet', p_day
            using errcode = 'object_not_in_prerequisite_state';
    end if;
    last_account := (select account_id from usage
                     where request_id >= first_id and request_id < end_id and account_id > p_after
                     order by account_id offset p_rows limit 1);
    delete from usage_day d
    where d.day = p_day and d.account_id > p_after and d.account_id <= coalesce(last_account, d.account_id);
    insert into usage_day
    select u.account_id, p_day, u.key_id, p.model_id, u.ending, count(*), sum(u.input_units), sum(u.cached_units),
           sum(u.output_units), sum(u.charged)
    from usage u join price p on p.id = u.price_id
    where u.request_id >= first_id and u.request_id < end_id
      and u.account_id > p_after and u.account_id <= coalesce(last_account, u.account_id)
    group by u.account_id, u.key_id, p.model_id, u.ending;
    if last_account is not null then
        return last_account;
    end if;
    delete from usage_day where account_id = 0 and day = p_day;
    insert into usage_day
    select 0, p_day, 0, model_id, ending, sum(calls), sum(input_units), sum(cached_units), sum(output_units),
           sum(charged)
    from usage_day where day = p_day and account_id > 0 group by model_id, ending;
    insert into usage_recounted values (p_day, ledger_now()) on conflict (day) do update set at = excluded.at;
    return null;
end $$;
