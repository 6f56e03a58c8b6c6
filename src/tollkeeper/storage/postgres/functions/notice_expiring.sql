-- Mails of lots that expire within `p_days`, of which nothing was said yet: one piece of `p_most` lots. Lots of a key (the
-- faucet's) and rests that would show as nothing are passed over, and so is what is due for the next notice already.
create or replace function notice_expiring(p_days integer, p_most integer, out told integer, out more boolean)
language plpgsql security definer set search_path = tollkeeper, pg_temp set timezone = 'UTC'
as $$
declare
    here notice_cursor;
    edge timestamptz := ledger_now() + make_interval(days => p_days);
    next_notice timestamptz := ledger_now() + make_interval(days => case p_days when 30 then 7 when 7 then 1 else 0 end);
    seen integer;
    last_expiry timestamptz;
    last_lot bigint;
    to_tell bigint[];
begin
    told := 0;
    more := false;
    select * into here from notice_cursor where kind = 'lot_' || p_days for update skip locked;
    if not found then
        return;
    end if;
    with passed as materialized (
        select l.id, l.remaining, l.key_id, l.expires_at from lot l
        where l.closed_at is null and l.expires_at >= here.up_to and l.expires_at <= edge
          and (l.expires_at, l.id) > (here.up_to, here.lot_id)
        order by l.expires_at, l.id limit p_most)
    select count(*), (array_agg(expires_at order by expires_at desc, id desc))[1],
           (array_agg(id order by expires_at desc, id desc))[1],
           coalesce(array_agg(id) filter (
               where remaining >= 500000000 and key_id is null and expires_at > next_notice), '{}')
    into seen, last_expiry, last_lot, to_tell from passed;
    with told_now as (
        insert into notice (account_id, kind, subject, occasion)
        select l.account_id, 'lot_expiring', l.id, p_days || ' days before ' || to_char(l.expires_at, 'YYYY-MM-DD HH24:MI:SS.US')
        from lot l join account a on a.id = l.account_id left join notice_choice c on c.account_id = l.account_id
        where l.id = any (to_tell) and a.disabled_at is null and coalesce(c.lot_expiring, true)
          and exists (select from login where login.account_id = l.account_id)
        on conflict do nothing returning subject)
    insert into outbox (kind, email, figures)
    select 'lot_expiring', o.email,
           jsonb_build_object('amount', l.remaining, 'at', to_char(l.expires_at, 'YYYY-MM-DD HH24:MI'))
    from told_now t join lot l on l.id = t.subject join login o on o.account_id = l.account_id;
    get diagnostics told = row_count;
    more := seen = p_most;
    update notice_cursor
    set up_to = case when more then last_expiry else greatest(edge, here.up_to) end,
        lot_id = case when more then last_lot when edge > here.up_to then 0 else here.lot_id end
    where kind = here.kind;
end $$;
