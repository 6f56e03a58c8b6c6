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
