"""The books' invariants, each a SQL query for the rows that break it. Clean books give no rows.

Rules of this file
1. Nothing here trusts what an earlier check found. Sums are added up anew, from the entries themselves.
2. `CALLS` compare rows of one call with each other. They are asked of calls from `{since}` on: what comes before may be
   left out only where it is shown to be, row by row, what it was when they held (`tollkeeper.storage.ledger.seals`).
"""

from collections.abc import Mapping

# Where the quota of every lot went, added up in one pass: what `BALANCES` compare lots and running totals with.
GONE = """
    select account_id, lot_id, key_id, kind, sum(amount) as amount from entry group by 1, 2, 3, 4"""

BALANCES: Mapping[str, str] = {
    "I1 granted = remaining + open holds + charged + expired + revoked + debt paid": """
        select format('account %s: granted %s, but remaining %s + held %s + gone %s', l.account_id, l.granted,
                      l.remaining, coalesce(h.held, 0), coalesce(e.gone, 0)) as finding
        from (select account_id, sum(granted) as granted, sum(remaining) as remaining from lot group by 1) l
        left join (select account_id, sum(amount) as held from hold where closed_at is null group by 1) h
            using (account_id)
        left join (select account_id, sum(amount) as gone from gone where lot_id <> 0 group by 1) e using (account_id)
        where l.granted <> l.remaining + coalesce(h.held, 0) + coalesce(e.gone, 0)""",
    "I1 likewise for every lot": """
        select format('lot %s of account %s: granted %s, but remaining %s + held %s + gone %s', l.id, l.account_id,
                      l.granted, l.remaining, coalesce(h.held, 0), coalesce(e.gone, 0)) as finding
        from lot l
        left join (select d.lot_id, sum(d.amount) as held from hold, unnest(lots, amounts) d (lot_id, amount)
                   where closed_at is null group by 1) h on h.lot_id = l.id
        left join (select lot_id, sum(amount) as gone from gone where lot_id <> 0 group by 1) e on e.lot_id = l.id
        where l.granted <> l.remaining + coalesce(h.held, 0) + coalesce(e.gone, 0)""",
    "I5 debt comes only from overrun and revocation": """
        select format('account %s: debt %s, entries say %s', b.account_id, b.debt, coalesce(e.owed, 0)) as finding
        from account_books b
        left join (select account_id, sum(case kind when 'debt_paid' then -amount else amount end) as owed
                   from gone where kind in ('debt', 'clawed', 'debt_paid') group by 1) e using (account_id)
        where b.debt <> coalesce(e.owed, 0)""",
    "I10 what accounts and keys used is the sum of their charges": """
        select format('account %s: used %s, entries say %s', b.account_id, b.used, coalesce(e.used, 0)) as finding
        from account_books b
        left join (select account_id, sum(amount) as used from gone where kind in ('charged', 'overrun', 'debt')
                   group by 1) e using (account_id)
        where b.used <> coalesce(e.used, 0)
        union all
        select format('key %s: used %s, entries say %s', b.key_id, b.used, coalesce(e.used, 0))
        from key_books b
        left join (select key_id, sum(amount) as used from gone where kind in ('charged', 'overrun', 'debt')
                   group by 1) e using (key_id)
        where b.used <> coalesce(e.used, 0)""",
    "every entry is of a lot, an account and a key that belong together": """
        select format('account %s: %s entries of %s, of lot %s and key %s', g.account_id, g.kind, g.amount, g.lot_id,
                      g.key_id) as finding
        from gone g left join lot l on l.id = g.lot_id left join api_key k on k.id = g.key_id
        left join account_books b on b.account_id = g.account_id
        where b.account_id is null or g.lot_id <> 0 and l.account_id is distinct from g.account_id
           or g.key_id is not null and k.account_id is distinct from g.account_id""",
}

CALLS: Mapping[str, str] = {
    "I3 a call is charged what its receipt says, once": """
        select format('call %s of account %s: receipt %s, entries %s', u.request_id, u.account_id, u.charged,
                      coalesce(e.charged, 0)) as finding
        from usage u
        left join (select cause, sum(amount) as charged from entry
                   where kind in ('charged', 'overrun', 'debt') and cause >= '{since}' group by 1) e
            on e.cause = u.request_id
        where u.request_id >= '{since}' and u.charged <> coalesce(e.charged, 0)
        union all
        select format('call %s of account %s: hold charged %s, receipt %s', h.request_id, h.account_id, h.charged,
                      u.charged)
        from (select * from hold where request_id >= '{since}') h
        left join (select * from usage where request_id >= '{since}') u using (request_id)
        -- The usage log is cleaned from its old end.
        where h.closed_at is not null and h.charged is distinct from u.charged
          and h.request_id >= (select request_id from usage order by request_id limit 1)
        union all
        select format('call %s of account %s: %s entry of %s without a hold', e.cause, e.account_id, e.kind, e.amount)
        from entry e
        -- Holds are dropped from their old end.
        where e.kind in ('charged', 'overrun', 'debt')
          and e.cause >= '{since}' and e.cause >= (select request_id from hold order by request_id limit 1)
          and not exists (select from hold h where h.request_id = e.cause and h.request_id >= '{since}')""",
    "I9 every hold and receipt names a price": """
        select format('call %s: price %s', request_id, price_id) as finding
        from (select request_id, price_id from hold where request_id >= '{since}' union all
              select request_id, price_id from usage where request_id >= '{since}') calls
        where not exists (select from price where id = price_id)""",
    "the parts of a receipt are shares of its input and output, and none is counted twice": """
        select format('call %s of account %s: %s cached and %s in parts of %s input, %s in parts of %s output',
                      u.request_id, u.account_id, u.cached_units, p.input, u.input_units, p.output,
                      u.output_units) as finding
        from usage u cross join lateral (
            select coalesce(sum((u.parts ->> name)::numeric) filter (where name !~ 'output$'), 0) as input,
                   coalesce(sum((u.parts ->> name)::numeric) filter (where name ~ 'output$'), 0) as output,
                   bool_or((u.parts ->> name)::numeric < 0) as is_negative
            from unnest(array['written_5m', 'written_1h', 'image_input', 'audio_input', 'image_output', 'audio_output'])
                 part (name)) p
        where u.request_id >= '{since}' and u.parts is not null and (
            p.is_negative or u.cached_units + p.input > u.input_units or p.output > u.output_units)""",
}

STANDING: Mapping[str, str] = {
    "I2 what accounts and keys hold is the sum of their open holds": """
        select format('account %s: held %s, open holds %s', b.account_id, b.held, coalesce(h.held, 0)) as finding
        from account_books b
        left join (select account_id, sum(amount) as held from hold where closed_at is null group by 1) h
            using (account_id)
        where b.held <> coalesce(h.held, 0)
        union all
        select format('key %s: held %s, open holds %s', b.key_id, b.held, coalesce(h.held, 0))
        from key_books b
        left join (select key_id, sum(amount) as held from hold where closed_at is null group by 1) h using (key_id)
        where b.held <> coalesce(h.held, 0)""",
    "I4 every hold is closed within its deadline and a minute": """
        select format('call %s of account %s: hold open, due %s', request_id, account_id, deadline_at) as finding
        from hold where closed_at is null and deadline_at + interval '60 s' < ledger_now()""",
    "what a key's budget counts is the sum of its day's holds": """
        select format('key %s: day %s counts %s, holds say %s', b.key_id, b.day, b.day_total, coalesce(h.total, 0))
                   as finding
        from key_books b
        left join (select key_id, day, sum(coalesce(charged, amount)) as total from hold
                   where day > (ledger_now() at time zone 'UTC')::date - 7 group by 1, 2) h
            on h.key_id = b.key_id and h.day = b.day
        where b.day > (ledger_now() at time zone 'UTC')::date - 7 and b.day_total <> coalesce(h.total, 0)""",
    "I5 a lot bound to a key belongs to that key's account": """
        select format('lot %s of account %s: bound to key %s of account %s', l.id, l.account_id, k.id,
                      k.account_id) as finding
        from lot l join api_key k on k.id = l.key_id where k.account_id <> l.account_id""",
    "I11 cash granted = pending + available + paid + revoked": """
        select format('account %s: granted %s, but pending %s + available %s + paid %s + revoked %s', account_id,
                      e.granted, coalesce(r.pending, 0), coalesce(r.ripe, 0) - coalesce(w.paid, 0), e.paid, e.revoked)
                   as finding
        from (select account_id, coalesce(sum(usd_micros) filter (where kind = 'granted'), 0) as granted,
                     coalesce(sum(usd_micros) filter (where kind = 'paid'), 0) as paid,
                     coalesce(sum(usd_micros) filter (where kind = 'revoked'), 0) as revoked
              from cash_entry group by 1) e
        -- What is there to be had, by the rewards and the withdrawals themselves. What was written off stays granted.
        full join (select account_id, sum(amount) filter (where revoked_at is null and available_at > ledger_now())
                              as pending,
                          sum(amount - coalesce(taken_back, 0))
                              filter (where revoked_at is not null or available_at <= ledger_now()) as ripe
                   from reward where kind = 'referral_cash' group by 1) r using (account_id)
        full join (select account_id, sum(usd_micros) as paid from withdrawal where state = 'paid' group by 1) w
            using (account_id)
        where coalesce(e.granted, 0) <> coalesce(r.pending, 0) + coalesce(r.ripe, 0) - coalesce(w.paid, 0)
                                        + coalesce(e.paid, 0) + coalesce(e.revoked, 0)
           or coalesce(e.paid, 0) <> coalesce(w.paid, 0)""",
    "I11 every cash entry is a reward's or a withdrawal's, of that account and amount": """
        select format('cash entry %s of account %s: %s %s', c.id, c.account_id, c.kind, c.usd_micros) as finding
        from cash_entry c left join reward r on r.id = c.reward_id left join withdrawal w on w.id = c.withdrawal_id
        where c.account_id is distinct from coalesce(r.account_id, w.account_id)
           or c.usd_micros is distinct from
              case c.kind when 'granted' then r.amount when 'revoked' then r.taken_back else w.usd_micros end""",
    "I12 every redeemed code is one top-up and one lot, and every gift one lot": """
        select format('code %s: redeemed by account %s, top-up %s', c.id, c.redeemed_by, t.id) as finding
        from redemption_code c
        join redemption_batch b on b.id = c.batch_id
        full join top_up t on t.code_id = c.id
        left join lot l on l.id = t.lot_id
        where (c.redeemed_at is not null or t.id is not null)
          and (c.redeemed_by, c.top_up_id, b.quota, 'redemption', c.id::text, t.quota, t.account_id) is distinct from
              (t.account_id, t.id, t.quota, l.source, l.source_id, l.granted, l.account_id)
        union all
        select format('reward %s of account %s: %s of %s, lot %s', r.id, r.account_id, r.kind, r.amount, r.lot_id)
        from reward r left join lot l on l.id = r.lot_id
        where r.lot_id is not null
          and (r.account_id, r.amount, 'gift') is distinct from (l.account_id, l.granted, l.source)
        union all
        select format('lot %s of account %s: a %s that nobody was given', l.id, l.account_id, l.source)
        from lot l
        where l.source = 'redemption' and not exists (select from top_up t where t.lot_id = l.id)
           or l.source = 'gift' and not exists (select from reward r where r.lot_id = l.id)
           or l.source = 'faucet' and not exists (select from faucet_grant f where f.lot_id = l.id)""",
    "I13 of a top-up that was taken back, the lot is closed and every reward is revoked": """
        select format('top-up %s of account %s: lot %s is open', t.id, t.account_id, l.id) as finding
        from top_up_revocation v join top_up t on t.id = v.top_up_id join lot l on l.id = t.lot_id
        where l.closed_at is null
        union all
        select format('top-up %s: reward %s of account %s is not revoked', v.top_up_id, r.id, r.account_id)
        from top_up_revocation v join reward r on r.top_up_id = v.top_up_id where r.revoked_at is null""",
    "I14 a disputed charge is credited once, and never beyond what was charged": """
        select format('call %s of account %s: %s credited of %s, lot %s', d.request_id, d.account_id, d.credited,
                      d.charged, l.id) as finding
        from (select * from dispute where state = 'credited') d
        full join (select * from lot where source = 'dispute') l on l.source_id = d.request_id::text
        where (d.account_id, d.lot_id, d.credited) is distinct from (l.account_id, l.id, l.granted)
           or d.credited > d.charged
        union all
        select format('call %s of account %s: disputed %s, receipt %s', d.request_id, d.account_id, d.charged,
                      u.charged)
        from dispute d
        -- Each by itself (`offset`): there are few of them among millions of receipts.
        cross join lateral (select account_id, charged from usage where request_id = d.request_id offset 0) u
        where (d.account_id, d.charged) is distinct from (u.account_id, u.charged)""",
    "every account has its books": """
        select format('account %s', a.id) as finding
        from account a left join account_books b on b.account_id = a.id where b.account_id is null""",
    "every key has its books": """
        select format('key %s', k.id) as finding
        from api_key k left join key_books b on b.key_id = k.id where b.key_id is null""",
    "the audit trail is unbroken": """
        select format('audit row %s', id) as finding
        from (select a.*, audit_hash(coalesce(lag(hash) over w, ''), a) as expected, lag(id) over w as before
              from audit a window w as (order by id)) chain
        where hash <> expected or id <> coalesce(before, 0) + 1""",
}
