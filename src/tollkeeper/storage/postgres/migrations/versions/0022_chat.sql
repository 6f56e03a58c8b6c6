-- Keys of the console's chat: each belongs to one session, and is revoked when that ends. Their texts are derived from the
-- session's token, so nobody has to keep them.
alter table api_key add column for_chat boolean not null default false;
alter table api_key add column session_id bigint references session on delete set null;
alter table api_key add check (for_chat or session_id is null);
create unique index api_key_by_session on api_key (session_id) where session_id is not null;
create index api_key_for_chat on api_key (account_id, id) where for_chat;

-- The key of a session's chat, for so many seconds from now; no row where the session is over, or where somebody revoked
-- its key. An account has as many of them as it had sessions that chatted at the same time: a key whose session is over is
-- given to the next one, with another text.
create function open_chat_key(
    p_account bigint, p_session bigint, p_name text, p_pepper_version smallint, p_digest bytea, p_hint text,
    p_seconds integer, p_actor text)
returns table (key_id bigint, is_busy boolean)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    ends_at timestamptz;
    found_key api_key%rowtype;
begin
    -- Whoever closes the account has its row before its keys and sessions; so has this.
    perform from account where id = p_account for key share;
    -- Whoever ends the session meanwhile comes before, and is seen, or after, and ends the key with it.
    select least(s.expires_at, ledger_now() + make_interval(secs => p_seconds)) into ends_at from session s
    where s.id = p_session and s.account_id = p_account and s.revoked_at is null and s.expires_at > ledger_now()
    for no key update;
    if not found then
        return;
    end if;
    select * into found_key from api_key k where k.session_id = p_session;
    if not found then
        select k.* into found_key from api_key k left join session s on s.id = k.session_id
        where k.account_id = p_account and k.for_chat
          and (s.id is null or s.revoked_at is not null or s.expires_at <= ledger_now())
          and not exists (select from key_books b where b.key_id = k.id and b.held > 0)
        order by k.id limit 1 for update of k skip locked;
        if not found then
            insert into api_key (account_id, name, pepper_version, digest, hint, expires_at, for_chat, session_id)
            values (p_account, p_name, p_pepper_version, p_digest, p_hint, ends_at, true, p_session)
            returning * into found_key;
        end if;
        perform append_audit(p_actor, 'key.open_for_chat', 'key:' || found_key.id,
                             jsonb_build_object('session', p_session, 'hint', p_hint));
    elsif found_key.revoked_at is not null then
        return;
    end if;
    -- Written only where something changes: every change of a key is news to all nodes.
    update api_key k
    set session_id = p_session, pepper_version = p_pepper_version, digest = p_digest, hint = p_hint, expires_at = ends_at,
        revoked_at = null
    where k.id = found_key.id
      and (k.session_id is distinct from p_session or k.digest <> p_digest
           or k.expires_at < ends_at - make_interval(secs => p_seconds / 2.0));
    return query select b.key_id, b.held > 0 from key_books b where b.key_id = found_key.id;
end $$;
grant execute on function open_chat_key(bigint, bigint, text, smallint, bytea, text, integer, text) to tollkeeper_console;

create function end_chat_key() returns trigger
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
begin
    update api_key set revoked_at = ledger_now() where session_id = new.id and revoked_at is null;
    return null;
end $$;

create trigger end_chat_key after update of revoked_at on session
    for each row when (old.revoked_at is null and new.revoked_at is not null) execute function end_chat_key();
