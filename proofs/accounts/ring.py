"""The ring: accounts of one owner that invite and gift each other, month after month, for all that the plan gives.

Rules of this file
1. Each account was invited by the one before it. So a later account's gift code closes a loop, and must be refused;
   an earlier one's does not, and is what the ring earns by.
2. What an account gets in a month is the lesser of the cap and the sum of its rewards, in whatever order they came:
   reckoned here from the amounts alone, and compared with the database to the unit.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import TypeVar

import msgspec

from proofs.accounts.spending import Spender
from proofs.rig.proof import say
from proofs.rig.town import ACTOR, Account, Town, set_clock
from tollkeeper.core.partner.plan import ReferralTerms
from tollkeeper.ports.customers.redemption import Redeemed
from tollkeeper.ports.partner import WithdrawalState

T = TypeVar("T")

AT_ONCE = 16
TERMS = ReferralTerms()
CASH_CAP_MICROS = 500 * 1_000_000
GIFT_CAP_UNITS = 100 * 500_000_000_000
# Some far beyond the caps (4,000 USD are two months' gifts, 25,000 USD more than a month's cash).
AMOUNTS_USD = ("10", "99.99", "900", "4000", "25000")
TOP_UPS_A_MONTH = 2
DAY = 5

PAYOUTS = """
select account_id, date_trunc('month', granted_at, 'UTC')::date::text as month, kind = 'referral_cash' as is_cash,
       sum(amount)::bigint as amount
from reward group by 1, 2, 3 having sum(amount) > 0
"""


class Payout(msgspec.Struct, frozen=True):
    """What one account got in one month, in cash (micro-USD) or gifts (units of quota)."""

    account_id: int
    month: str
    is_cash: bool


class Purchase(msgspec.Struct, frozen=True):
    usd: str
    code: str
    # Places in the ring. None: nobody is before the first.
    giver: int | None
    later: int | None


class Ring:
    def __init__(self, towns: Sequence[Town], spender: Spender, chance: random.Random) -> None:
        self._towns = towns
        self._town = towns[0]
        self._spender = spender
        self._chance = chance
        self.members: list[Account] = []
        self.wrong: list[str] = []
        self.refused: Counter[str] = Counter()
        self.paid_in = Decimal(0)
        self._earned: Counter[Payout] = Counter()

    async def form(self, accounts: int) -> None:
        """Everybody is invited by the one before; the ends, and themselves, they try in vain."""
        self.members = await self._town.accounts(accounts, "of the ring")
        for inviter, guest in pairwise(self.members):
            self._expect(await self._accept(guest, inviter), "an invitation was refused")
        first, last = self.members[0], self.members[-1]
        self._expect(not await self._accept(first, last), "the ring was closed by an invitation")
        for member in self.members:
            self._expect(not await self._accept(member, member), "somebody invited themselves")

    async def live(self, months: int) -> None:
        begin = datetime.now(UTC).replace(hour=12)
        for _ in range(months):
            begin = (begin.replace(day=28) + timedelta(days=4)).replace(day=DAY)
            await set_clock(self._town.owner, begin)
            await self._cash_in()
            bought = {place: await self._purchases(place) for place in range(len(self.members))}
            await _gathered(self._top_up(place, purchases, begin) for place, purchases in bought.items())
            await self._spend()

    async def close_at_once(self) -> None:
        """Accounts without a past each take the next one's gift code, all at the same moment: one must be refused."""
        strangers = await self._town.accounts(len(self.members), "of the other ring")
        codes = await self._town.sold(len(strangers), "10")
        done = await _gathered(
            self._towns[place % len(self._towns)].redeem(
                stranger, codes[place], giver=strangers[(place + 1) % len(strangers)], terms=TERMS
            )
            for place, stranger in enumerate(strangers)
        )
        told = Counter(each.verdict for each in done)
        self._expect(
            told == {Redeemed.REDEEMED: len(strangers) - 1, Redeemed.LOOP: 1}, f"a ring closed at once: {told}"
        )

    async def is_within_caps(self) -> bool:
        """Compare every account's months with what they must be, and print the totals."""
        members = {member.id for member in self.members}
        rows = [row for row in await self._town.owner.fetch(PAYOUTS) if row["account_id"] in members]
        paid = {Payout(row["account_id"], row["month"], row["is_cash"]): row["amount"] for row in rows}
        capped = {payout: min(full, _cap(payout)) for payout, full in self._earned.items()}
        different = {
            payout: (paid.get(payout), amount) for payout, amount in capped.items() if paid.get(payout) != amount
        }
        self._expect(not different and len(paid) == len(capped), f"payouts differ: {list(different.items())[:3]}")
        self._expect(all(amount <= _cap(payout) for payout, amount in paid.items()), "a cap was passed")
        at_cap = Counter(payout.is_cash for payout, amount in paid.items() if amount == _cap(payout))
        self._expect(bool(at_cap[True] and at_cap[False]), "no cap was ever reached")
        cash = sum(amount for payout, amount in paid.items() if payout.is_cash) / 1e6
        gifts = sum(amount for payout, amount in paid.items() if not payout.is_cash) / 500_000_000_000
        part = 100 * (cash + gifts) / float(self.paid_in)
        say(f"{len(self.members):,} accounts paid {self.paid_in:,} USD in; refused: {dict(self.refused)}")
        say(f"they got {cash:,.2f} USD in cash and {gifts:,.2f} USD in gifts, {part:.2f} % of it")
        say(f"{len(paid):,} accounts' months, {at_cap[True]} at the cap on cash, {at_cap[False]} at that on gifts")
        for problem in self.wrong[:5]:
            say(f"WRONG {problem}")
        return not self.wrong

    def _expect(self, holds: bool, problem: str) -> None:
        if not holds:
            self.wrong.append(problem)

    async def _accept(self, guest: Account, inviter: Account) -> bool:
        return await self._town.accept(guest, inviter)

    async def _purchases(self, place: int) -> list[Purchase]:
        """One with the code of whoever is before, one with that of anybody before."""
        givers = [None, None] if place == 0 else [place - 1, self._chance.randrange(place)]
        later = None if place == len(self.members) - 1 else self._chance.randrange(place + 1, len(self.members))
        amounts = self._chance.choices(AMOUNTS_USD, k=TOP_UPS_A_MONTH)
        return [
            Purchase(usd, (await self._town.sold(1, usd))[0], giver, later)
            for usd, giver in zip(amounts, givers, strict=True)
        ]

    async def _top_up(self, place: int, purchases: Sequence[Purchase], at: datetime) -> None:
        member, town = self.members[place], self._towns[place % len(self._towns)]
        for purchase in purchases:
            tries = [
                (Redeemed.OWN_GIFT_CODE, place),
                (Redeemed.LOOP, purchase.later),
                (Redeemed.REDEEMED, purchase.giver),
            ]
            for expected, other in tries:
                if other is None and expected is Redeemed.LOOP:
                    continue
                giver = None if other is None else self.members[other]
                done = await town.redeem(member, purchase.code, giver=giver, terms=TERMS)
                self._expect(done.verdict is expected, f"{done.verdict} where {expected} was due")
                if done.top_up is None:
                    self.refused[done.verdict.value] += 1
            self._reckon(place, purchase, at)

    def _reckon(self, place: int, purchase: Purchase, at: datetime) -> None:
        usd, month = Decimal(purchase.usd), f"{at:%Y-%m}-01"
        self.paid_in += usd
        if place > 0:
            self._earned[Payout(self.members[place - 1].id, month, True)] += int(usd * 1_000_000 * 5 / 100 / 2)
        if purchase.giver is not None:
            for side in (place, purchase.giver):
                self._earned[Payout(self.members[side].id, month, False)] += int(usd * 500_000_000_000 * 5 / 100)

    async def _cash_in(self) -> None:
        """Ask for whatever is withdrawable; support pays most."""
        await _gathered(self._withdraw(member) for member in self.members)
        for number, asked in enumerate(await self._town.partners.withdrawals()):
            if number % 3 > 0:
                await self._town.pay(asked.id)
            else:
                refused = WithdrawalState.REFUSED
                await self._town.partners.decide(asked.id, refused, reason="as usual", actor=ACTOR)

    async def _withdraw(self, member: Account) -> None:
        available = (await self._town.partners.statement(member.id)).cash.available
        if available > 0:
            await self._town.withdraw(member, available)

    async def _spend(self) -> None:
        """Every other account spends a part of what it has, gifts among it."""
        await _gathered(
            self._spender.spend_part(member.id, self._chance.uniform(0.2, 0.9)) for member in self.members[::2]
        )


def _cap(payout: Payout) -> int:
    return CASH_CAP_MICROS if payout.is_cash else GIFT_CAP_UNITS


async def _gathered(acts: Iterable[Awaitable[T]]) -> list[T]:
    """A few at a time."""
    places = asyncio.Semaphore(AT_ONCE)

    async def placed(act: Awaitable[T]) -> T:
        async with places:
            return await act

    return await asyncio.gather(*(placed(act) for act in acts))
