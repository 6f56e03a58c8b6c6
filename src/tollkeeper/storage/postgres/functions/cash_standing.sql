-- `requested` is a part of `available`, which is below zero where what was paid out was revoked later.
create or replace function cash_standing(
    p_account bigint, out granted bigint, out pending bigint, out available bigint, out paid bigint,
    out revoked bigint, out requested bigint)
language sql stable
as $$
    select e.granted, e.pending, e.granted - e.revoked - e.paid - e.pending, e.paid, e.revoked, w.requested
    from (select coalesce(sum(c.usd_micros) filter (where c.kind = 'granted'), 0)::bigint as granted,
                 coalesce(sum(c.usd_micros) filter (where c.kind = 'granted' and r.revoked_at is null
                                                      and r.available_at > ledger_now()), 0)::bigint as pending,
                 coalesce(sum(c.usd_micros) filter (where c.kind = 'paid'), 0)::bigint as paid,
                 coalesce(sum(c.usd_micros) filter (where c.kind = 'revoked'), 0)::bigint as revoked
          from cash_entry c left join reward r on r.id = c.reward_id where c.account_id = p_account) e,
         (select coalesce(sum(usd_micros), 0)::bigint as requested
          from withdrawal where account_id = p_account and state in ('requested', 'approved')) w
$$;
