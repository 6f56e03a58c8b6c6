"""Revoking: every reward that was ever granted is taken back, and everybody has what they would have had without.

Rules of this file
1. Every other reward is written off as far as it was spent or paid out; of the rest, that is owed.
2. Afterwards an account's quota is what it topped up, less what it used, and what was written off; and its cash what
   was written off, less what was paid. The books themselves are checked as an operator checks them.
"""

from collections import Counter

from proofs.rig.proof import say
from proofs.rig.town import ACTOR, Town
from tollkeeper.ports.partner import RewardKind

EXAMPLES = 5
AGAIN = 20

REWARDS = "select id from reward order by id"
DIFFERENT = """
with given_up as (
    select account_id, coalesce(sum(written_off) filter (where kind <> 'referral_cash'), 0) as quota,
           coalesce(sum(written_off) filter (where kind = 'referral_cash'), 0) as cash
    from reward group by 1),
held as (select account_id, sum(remaining) as remaining from lot group by 1),
bought as (select account_id, sum(quota) as quota from top_up group by 1)
select format('account %s: has %s, owes %s, bought %s, used %s, written off %s; cash %s pending, %s available, %s paid,'
              ' %s written off', b.account_id, h.remaining, b.debt, t.quota, b.used, g.quota, c.pending, c.available,
              c.paid, g.cash) as difference
from account_books b left join given_up g using (account_id) left join held h using (account_id)
left join bought t using (account_id), cash_standing(b.account_id) c
where coalesce(h.remaining, 0) - b.debt <> coalesce(t.quota, 0) - b.used + coalesce(g.quota, 0)
   or c.pending <> 0 or c.available + c.paid <> coalesce(g.cash, 0)
   or c.granted <> c.pending + c.available + c.paid + c.revoked
union all
select format('reward %s is not revoked, or its lot %s is open', r.id, r.lot_id)
from reward r left join lot l on l.id = r.lot_id
where r.revoked_at is null or (l.id is not null and (l.closed_at is null or l.remaining > 0))
"""
STATE = """
select (select sum(remaining) from lot), (select sum(debt) from account_books), (select count(*) from entry),
       (select count(*) from cash_entry)
"""


async def revoke_everything(town: Town) -> bool:
    """Whether nothing of the rewards is left."""
    ids = [row["id"] for row in await town.owner.fetch(REWARDS)]
    sums: Counter[str] = Counter()
    for reward_id in ids:
        done = await town.partners.revoke_reward(reward_id, write_off=reward_id % 2 == 0, why="a ring", actor=ACTOR)
        what = "cash" if done.kind is RewardKind.REFERRAL_CASH else "quota"
        sums.update({f"{what} taken back": done.taken_back, f"{what} owed": done.owed})
        sums.update({f"{what} written off": done.written_off})
    say(f"{len(ids):,} rewards revoked: {_told(sums)}")
    state = await town.owner.fetchrow(STATE)
    again = [
        (await town.partners.revoke_reward(reward_id, write_off=False, why="again", actor=ACTOR)).before
        for reward_id in ids[:AGAIN]
    ]
    different = [row["difference"] for row in await town.owner.fetch(DIFFERENT)]
    for difference in different[:EXAMPLES]:
        say(f"NOT RESTORED {difference}")
    # A sum that is nothing would show nothing.
    return (
        not different
        and all(sums.values())
        and len(sums) == 6
        and all(again)
        and (await town.owner.fetchrow(STATE) == state)
    )


def _told(sums: Counter[str]) -> str:
    divisors = {"cash": 1_000_000, "quota": 500_000_000_000}
    return ", ".join(f"{name} {amount / divisors[name.split()[0]]:,.2f} USD" for name, amount in sorted(sums.items()))
