-- The last five characters of an invite link: base-32 without look-alikes, by chance.
create or replace function gift_code_by_chance() returns text
language sql volatile
as $$
    select string_agg(substr('23456789ABCDEFGHJKLMNPQRSTUVWXYZ', 1 + (get_byte(chance, n) & 31), 1), '')
    from (select uuid_send(gen_random_uuid()) as chance) once, generate_series(0, 4) n
$$;
