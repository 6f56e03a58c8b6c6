-- A call was cut and goes on without its caller: one like it that is sent as a retry finds it by its digest.
create or replace function note_cut(p_request uuid, p_account bigint, p_digest bytea, p_body bytea)
returns void
language sql
security definer
set search_path = tollkeeper, pg_temp
as $$
    insert into idempotency (account_id, digest, body, request_id, at)
    select h.account_id, p_digest, p_body, h.request_id, ledger_now()
    from hold h where h.request_id = p_request and h.account_id = p_account
    on conflict (account_id, digest)
    do update set body = excluded.body, request_id = excluded.request_id, at = excluded.at;
$$;
