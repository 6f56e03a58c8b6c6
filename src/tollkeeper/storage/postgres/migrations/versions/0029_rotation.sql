-- Under which pepper the text from before a rotation is digested. Null: from before this was noted.
alter table api_key add column former_pepper_version smallint;
-- Likewise of a recovery code.
alter table recovery_code add column pepper_version smallint;
-- What a node says that it knows: versions of peppers and envelope keys, each with a few digits that tell secrets apart
-- and give none away.
alter table node add column secrets text[] not null default '{}';

-- Versions that an operator gave up. A node does not start where a key needs a pepper that it does not have, unless that
-- one stands here.
create table pepper_retired (
    version smallint primary key check (version > 0),
    at      timestamptz not null default ledger_now()
);
grant select on pepper_retired to tollkeeper_gateway, tollkeeper_console, tollkeeper_worker;
grant insert on pepper_retired to tollkeeper_console;

-- Whether that account has such a key, not revoked.
create or replace function rotate_key(
    p_account bigint, p_key bigint, p_pepper_version smallint, p_digest bytea, p_hint text, p_keep_seconds integer)
returns boolean
language sql security definer set search_path = tollkeeper, pg_temp
as $$
    update api_key
    set pepper_version = p_pepper_version, digest = p_digest, hint = p_hint, rotated_at = ledger_now(),
        former_digest = case when p_keep_seconds > 0 then digest end,
        former_pepper_version = case when p_keep_seconds > 0 then pepper_version end,
        former_until = case when p_keep_seconds > 0 then ledger_now() + make_interval(secs => p_keep_seconds) end
    where id = p_key and account_id = p_account and revoked_at is null
    returning true
$$;

-- File keys under the digests of a newer pepper: of each its id, the digest that it has now, and the new one. A text from
-- before a rotation is filed anew like the present one. How many keys were. A key whose text changed meanwhile is left as
-- it is, and so is one that somebody else is changing: its next use brings it here again.
create or replace function redigest_keys(p_version smallint, p_keys bigint[], p_old bytea[], p_new bytea[])
returns integer
language sql security definer set search_path = tollkeeper, pg_temp
as $$
    with told as (select * from unnest(p_keys, p_old, p_new) told (id, old, new)),
    free as (select k.id from api_key k where k.id = any (p_keys) order by k.id for no key update skip locked),
    filed as (
        update api_key k
        set digest = case when k.digest = t.old then t.new else k.digest end,
            pepper_version = case when k.digest = t.old then p_version else k.pepper_version end,
            former_digest = case when k.former_digest = t.old then t.new else k.former_digest end,
            former_pepper_version = case when k.former_digest = t.old then p_version else k.former_pepper_version end
        from told t join free using (id)
        where k.id = t.id
          and ((k.digest = t.old and k.pepper_version < p_version)
               or (k.former_digest = t.old and coalesce(k.former_pepper_version, 0) < p_version))
        returning k.id)
    select count(*)::integer from filed
$$;
grant execute on function redigest_keys(smallint, bigint[], bytea[], bytea[]) to tollkeeper_gateway;

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

create trigger refuse_retired_pepper_of_new after insert on api_key
    referencing new table as fresh for each statement execute function refuse_retired_pepper();
create trigger refuse_retired_pepper after update on api_key
    referencing new table as fresh old table as gone for each statement execute function refuse_retired_pepper();
