create or replace function end_chat_key() returns trigger
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
begin
    update api_key set revoked_at = ledger_now() where session_id = new.id and revoked_at is null;
    return null;
end $$;
