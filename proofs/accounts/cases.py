"""Cases: what the database has after a top-up, compared to the unit with what was reckoned by hand."""

from collections.abc import Callable
from datetime import UTC, datetime

import msgspec

from proofs.accounts import case_table as table
from proofs.rig.proof import say
from proofs.rig.town import ACTOR, Account, Town, set_clock
from tollkeeper.core.partner.plan import MicroUsd, ReferralTerms
from tollkeeper.ports.customers.redemption import Redeemed
from tollkeeper.ports.partner import CashStanding, Requested

TERMS = ReferralTerms()
GIFTS = ("gift_given", "gift_received")

REWARDS = """
select kind, full_amount, amount, available_at::date::text as available_on from reward where account_id = $1 order by id
"""
LOTS = "select granted, remaining, expires_at::date::text as until from lot where account_id = $1 order by id"
GIFTS_OF = "select coalesce(sum(amount), 0)::bigint from reward where account_id = $1 and kind <> 'referral_cash'"


class People(msgspec.Struct, frozen=True):
    """Who stands in which relation to whoever tops up; both rules may concern one person."""

    inviter: bool
    giver: bool
    one_person: bool = False


RELATIONS = {
    "by nobody's invitation": People(False, False),
    "invited": People(True, False),
    "with a gift code": People(False, True),
    "invited, with another's gift code": People(True, True),
    "invited, with the inviter's gift code": People(True, True, one_person=True),
}

Facts = dict[str, object]


class Cases:
    def __init__(self, town: Town) -> None:
        self._town = town
        self.count = 0
        self.exact = 0

    async def all(self) -> None:
        await self._at(f"{table.TOPPED_UP_ON} 12:00:00")
        for number, amount in enumerate(table.AMOUNTS):
            months = list(table.TERMS_MONTHS)[number % len(table.TERMS_MONTHS)]
            for relation, people in RELATIONS.items():
                expected = _expected(amount, people, months)
                found = await self._found(amount.usd, people, months)
                self._compare(f"{amount.usd} USD {relation}", found, expected)
        for name, steps in table.MONTHS.items():
            await self._months(name, steps)
        await self._chain()
        await self._cash_life()

    def _compare(self, name: str, found: object, expected: object) -> None:
        self.count += 1
        if found == expected:
            self.exact += 1
        else:
            say(f"NOT EXACT {name}: {found}, by hand {expected}")

    async def _at(self, moment: str) -> None:
        await set_clock(self._town.owner, datetime.fromisoformat(moment).replace(tzinfo=UTC))

    async def _top_up(self, account: Account, usd: str, giver: Account | None = None, months: int = 9) -> None:
        [code] = await self._town.sold(1, usd, months=months)
        done = await self._town.redeem(account, code, giver=giver, terms=TERMS)
        assert done.verdict is Redeemed.REDEEMED

    async def _found(self, usd: str, people: People, months: int) -> Facts:
        inviter, giver = await self._town.accounts(2)
        giver = inviter if people.one_person else giver
        account = await self._town.a_guest(inviter) if people.inviter else (await self._town.accounts(1))[0]
        await self._top_up(account, usd, giver if people.giver else None, months)
        named = {"account": account, "inviter": inviter} | ({} if people.one_person else {"giver": giver})
        return {name: await self._facts(who) for name, who in named.items()}

    async def _facts(self, account: Account) -> object:
        rewards = [tuple(row) for row in await self._town.owner.fetch(REWARDS, account.id)]
        return rewards, [tuple(row) for row in await self._town.owner.fetch(LOTS, account.id)]

    async def _months(self, name: str, steps: tuple[table.Step, ...]) -> None:
        [inviter] = await self._town.accounts(1)
        guest = await self._town.a_guest(inviter)
        seen = (0, 0, 0)
        for step in steps:
            await self._at(step.at)
            await self._top_up(guest, step.usd, inviter)
            cash = (await self._town.partners.statement(inviter.id)).cash.granted
            now = (cash, await self._gifts(inviter), await self._gifts(guest))
            news = tuple(after - before for after, before in zip(now, seen, strict=True))
            self._compare(f"{name}, {step.at}", news, (step.cash, step.given, step.received))
            seen = now

    async def _chain(self) -> None:
        await self._at(table.CHAIN_AT)
        people = dict(zip("ABC", await self._town.accounts(3), strict=True))
        for giver, receiver, expected in table.CHAIN:
            await self._top_up(people[receiver], table.CHAIN_USD, people[giver])
            gifts = [await self._gifts(account) for account in people.values()]
            self._compare(f"{receiver} with the code of {giver}", tuple(gifts), expected)

    async def _gifts(self, account: Account) -> int:
        amount: int = await self._town.owner.fetchval(GIFTS_OF, account.id)
        return amount

    async def _cash_life(self) -> None:
        [inviter] = await self._town.accounts(1)
        guest = await self._town.a_guest(inviter)
        for standing in table.CASH_LIFE:
            await self._at(standing.at)
            if standing.act == "top up":
                await self._top_up(guest, "10")
            elif standing.act.startswith("withdraw"):
                await self._withdraw(inviter, early=standing.act.endswith("early"))
            elif standing.act.startswith("revoke"):
                await self._revoke(inviter, min if standing.act.endswith("oldest") else max)
            cash = (await self._town.partners.statement(inviter.id)).cash
            self._compare(f"{standing.act}, {standing.at}", _five(cash), standing.cash)

    async def _withdraw(self, inviter: Account, *, early: bool) -> None:
        asked = await self._town.withdraw(inviter, MicroUsd(250_000))
        assert asked.verdict is (Requested.SHORT if early else Requested.REQUESTED)
        if asked.withdrawal_id is not None:
            await self._town.pay(asked.withdrawal_id)

    async def _revoke(self, inviter: Account, choose: Callable[[list[int]], int]) -> None:
        rewards = [reward.id for reward in (await self._town.partners.statement(inviter.id)).rewards]
        await self._town.partners.revoke_reward(choose(rewards), write_off=False, why="a ring", actor=ACTOR)


def _five(cash: CashStanding) -> tuple[int, int, int, int, int]:
    return cash.granted, cash.pending, cash.available, cash.paid, cash.revoked


def _expected(amount: table.Amount, people: People, months: int) -> Facts:
    """What each of them has: rewards (kind, full amount, amount, from when) and lots (granted, remaining, until)."""
    until = table.TERMS_MONTHS[months]
    gift = (amount.gift, amount.gift, until)
    given, received = ((kind, amount.full_gift or amount.gift, amount.gift, table.TOPPED_UP_ON) for kind in GIFTS)
    cash = ("referral_cash", amount.full_cash or amount.cash, amount.cash, table.CASH_FROM)
    of_inviter = [cash] if people.inviter and amount.cash else []
    of_giver, lots_of_giver = ([given], [gift]) if people.giver else ([], [])
    of_account: object = (
        [received] if people.giver else [],
        [(amount.quota, amount.quota, until), *([gift] if people.giver else [])],
    )
    if people.one_person:
        return {"account": of_account, "inviter": ([*of_inviter, *of_giver], lots_of_giver)}
    return {"account": of_account, "inviter": (of_inviter, []), "giver": (of_giver, lots_of_giver)}
