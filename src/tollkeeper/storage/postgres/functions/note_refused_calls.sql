-- Calls of known keys that were refused before anything was held for them. Of each account and reason, a hundred in an
-- hour are enough: a flood fills nothing, and hides no other reason.
create or replace function note_refused_calls(
    p_request uuid[], p_account bigint[], p_key bigint[], p_code text[]) returns void
language sql security definer set search_path = tollkeeper, pg_temp
as $$
    insert into refused_call (request_id, account_id, key_id, code)
    select request_id, account_id, key_id, left(code, 64)
    from (select seen.*, row_number() over (partition by account_id, code) as place
          from unnest(p_request, p_account, p_key, p_code) seen (request_id, account_id, key_id, code)) fresh
    where place + (select count(*) from (
        select from refused_call r
        where r.account_id = fresh.account_id and r.code = left(fresh.code, 64)
          and r.at > ledger_now() - interval '1 hour'
        limit 100) lately) <= 100
    on conflict do nothing
$$;
