create or replace function credit(
    p_account bigint, p_key bigint, p_amount bigint, p_source text, p_source_id text, p_months integer, p_days integer,
    out lot_id bigint, out lot_expires_at timestamptz, out replayed boolean)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    term interval := make_interval(months => p_months, days => p_days);
    earlier lot;
begin
    perform from account_books where account_id = p_account for update;
    if p_key is not null and not exists (select from api_key where id = p_key and account_id = p_account) then
        raise exception 'key % is not a key of account %', p_key, p_account using errcode = 'foreign_key_violation';
    end if;
    insert into lot (account_id, key_id, granted, remaining, source, source_id, term, expires_at)
    values (p_account, p_key, p_amount, p_amount, p_source, p_source_id, term, ledger_now() + term)
    on conflict (source, source_id) do nothing
    returning id, expires_at, false into lot_id, lot_expires_at, replayed;
    if found then
        perform pay_debt(p_account);
        return;
    end if;
    select * into earlier from lot where source = p_source and source_id = p_source_id;
    if (earlier.account_id, earlier.key_id, earlier.granted) is distinct from (p_account, p_key, p_amount) then
        raise exception 'source id % was credited before, to another account or with another amount', p_source_id
            using errcode = 'unique_violation', constraint = 'lot_source_source_id_key';
    end if;
    lot_id := earlier.id;
    lot_expires_at := earlier.expires_at;
    replayed := true;
end $$;
