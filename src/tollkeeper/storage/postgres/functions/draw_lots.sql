-- Take up to `wanted` from what a key may draw (or, for no key, from the free lots), in the order of drawing. The caller
-- has locked the account's books.
create or replace function draw_lots(for_account bigint, for_key bigint, wanted bigint)
returns table (lot_id bigint, amount bigint)
language sql volatile
begin atomic
    with pocket as (
        select id, remaining, sum(remaining) over w - remaining as before
        from lot
        where account_id = for_account and (key_id is null or key_id = for_key)
          and remaining > 0 and expires_at > ledger_now() and closed_at is null
        window w as (order by key_id is null, expires_at, id)),
    drawn as (select id, least(remaining, wanted - before)::bigint as part from pocket where before < wanted)
    update lot set remaining = remaining - drawn.part from drawn where lot.id = drawn.id returning lot.id, drawn.part;
end;
