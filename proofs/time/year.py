"""A year: top-ups, spending, prices that change in the middle of calls, lots that expire, a log that is cleaned, and
workers and nodes that are killed now and then."""

import asyncio
import random
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal

import asyncpg
import msgspec

from proofs.rig.chat import Order, place
from proofs.rig.customers import ACTOR
from proofs.rig.database import connect
from proofs.rig.patience import patience
from proofs.rig.proof import say
from proofs.time.clock import Clock
from proofs.time.killable_site import MODELS, KillableSite
from proofs.time.receipts import Receipts
from tollkeeper.accounts.prices import PriceWish, enter_price_change
from tollkeeper.app.office import office
from tollkeeper.core.money.amounts import quota_from_usd
from tollkeeper.office.desks import Office
from tollkeeper.ports import Credit
from tollkeeper.ports.catalog.prices import NewFigures
from tollkeeper.settings import load
from tools.node import Node, command

AT_ONCE = 40
# How long the calls of a stop take; where a price changes, it does so in their middle.
QUICK_SECONDS, SLOW_SECONDS = 0.3, 2.0
BEFORE_A_CHANGE = timedelta(seconds=1.2)
CHANGE_EVERY_STOPS, KILL_WORKER_EVERY_STOPS, KILL_NODE_EVERY_STOPS = 4, 9, 23
TOP_UP_USD = "0.20"
# Months until a top-up expires: some of it is left then.
TERMS = (1, 3, 9)
ALL_DONE_WITHIN_SECONDS = 180.0
FLUSH_EVERY_SECONDS = 10.0
NOTICE = timedelta(hours=24)


NOT_DONE = """
select exists (select from hold where closed_at is null)
    or exists (select from job where coalesce(began_at < $1, true) or ended_at is null or not went_well)
"""


class Plan(msgspec.Struct, frozen=True):
    days: int
    # From one stop to the next.
    step_days: int
    calls_a_stop: int


class Found(msgspec.Struct, kw_only=True):
    books: str
    calls: int
    prices_exact: int
    wrong: Sequence[str]
    changes: int
    expired_lots: int
    oldest_day_kept: int
    jobs: Sequence[str]


async def live(site: KillableSite, plan: Plan, chance: random.Random) -> Found:
    owner = await connect(site.settings["TOLLKEEPER_DATABASE_URL"])
    clock = Clock(owner, site.redis.url)
    await clock.install()
    try:
        async with office(load(site.settings)) as desk:
            await site.furnish(desk)
            await asyncio.to_thread(site.open)
            year = Year(site, desk, clock, Receipts(owner), chance)
            await year.pass_by(plan)
            await _until_all_is_done(owner)
            await year.receipts.read()
            return await _found(year, owner)
    finally:
        await owner.close()


class Year:
    def __init__(
        self, site: KillableSite, desk: Office, clock: Clock, receipts: Receipts, chance: random.Random
    ) -> None:
        self.receipts = receipts
        self.site = site
        self.calls = 0
        self.changes = 0
        self._desk = desk
        self._clock = clock
        self._chance = chance

    async def pass_by(self, plan: Plan) -> None:
        ends_at = await self._clock.now() + timedelta(days=plan.days)
        told_at, stop, change_at = time.monotonic(), 0, None
        while (now := await self._clock.now()) < ends_at:
            step = timedelta(days=plan.step_days)
            by = min(step, change_at - BEFORE_A_CHANGE - now) if change_at is not None else step
            await self._clock.move(by, self.site.nodes)
            is_change = change_at is not None and change_at - await self._clock.now() < timedelta(minutes=1)
            await self._top_up(stop)
            await self._spend(plan.calls_a_stop, stop, slowly=is_change)
            await self.receipts.read()
            if stop % KILL_WORKER_EVERY_STOPS == KILL_WORKER_EVERY_STOPS - 1:
                await asyncio.to_thread(self.site.kill_a_worker, self._chance)
            if is_change or change_at is None:
                change_at = await self._enter_a_price() if stop % CHANGE_EVERY_STOPS == 0 else None
            stop += 1
            if time.monotonic() - told_at > FLUSH_EVERY_SECONDS:
                told_at = time.monotonic()
                say(f"{(ends_at - now).days} days left, {self.calls:,} calls, {self.changes} prices changed")

    async def _enter_a_price(self) -> datetime:
        """One that takes effect in the middle of the calls of a stop to come."""
        model = self._chance.choice(MODELS)
        ahead = timedelta(days=self._chance.randrange(2, 5), hours=self._chance.random() * 24)
        at = await self._clock.now() + ahead
        wish = PriceWish(
            model_id=model,
            figures=NewFigures(
                model=Decimal(self._chance.randrange(500_000, 3_000_000)) / 1_000_000,
                completion=Decimal(self._chance.randrange(1_000_000, 8_000_000)) / 1_000_000,
            ),
            effective_from=at,
        )
        await enter_price_change(wish, NOTICE, self._desk.prices, actor=ACTOR)
        self.changes += 1
        return at

    async def _top_up(self, stop: int) -> None:
        for account_id in self.site.customers:
            if stop == 0 or self._chance.random() < 0.1:
                credit = Credit(
                    account_id=account_id,
                    amount=quota_from_usd(Decimal(TOP_UP_USD)),
                    source="operator",
                    source_id=f"{stop}:{account_id}",
                    months=self._chance.choice(TERMS),
                )
                await self._desk.accounts.credit(credit, actor=ACTOR)

    async def _spend(self, calls: int, stop: int, *, slowly: bool) -> None:
        seconds = SLOW_SECONDS if slowly else QUICK_SECONDS
        share = calls // len(self.site.nodes)
        kills = stop % KILL_NODE_EVERY_STOPS == KILL_NODE_EVERY_STOPS - 1
        loads = [asyncio.create_task(self._load(node, share, share / seconds)) for node in self.site.nodes]
        if kills:
            await asyncio.sleep(seconds / 2)
            victim = self._chance.choice(self.site.nodes)
            await asyncio.to_thread(victim.kill)
            await asyncio.to_thread(victim.start)
        await asyncio.gather(*loads)

    async def _load(self, node: Node, calls: int, per_second: float) -> None:
        orders = [
            Order(
                customer=self._chance.choice(list(self.site.customers.values())),
                text=f"[[tokens={self._chance.randrange(1, 60)}]] {'word ' * self._chance.randrange(1, 80)}",
                stream=self._chance.random() < 0.5,
                model=self._chance.choice(MODELS),
                host="localhost",
            )
            for _ in range(calls)
        ]
        heard = await place(node.port, orders, at_once=AT_ONCE, per_second=per_second)
        self.calls += sum(one.answer.status == 200 for one in heard)


async def _until_all_is_done(owner: asyncpg.Connection) -> None:
    """No call is under way, and every job was done since, and well."""
    since = await owner.fetchval("select ledger_now()")
    given_up_at = time.monotonic() + patience(ALL_DONE_WITHIN_SECONDS)
    while await owner.fetchval(NOT_DONE, since):
        if time.monotonic() > given_up_at:
            say("some calls are not settled, or some jobs were not done")
            return
        # None waits for its time: for all of them it is a day later.
        await owner.execute("update moved_clock set shift = shift + interval '1 day'")
        await asyncio.sleep(3)


async def _found(year: Year, owner: asyncpg.Connection) -> Found:
    checked = await asyncio.to_thread(command, year.site.settings, "books", "check")
    jobs = await owner.fetch("select name, outcome from job where went_well is not true order by name")
    return Found(
        books="clean" if "The books are clean." in checked else "NOT CLEAN",
        calls=year.calls,
        prices_exact=year.receipts.exact,
        wrong=year.receipts.wrong,
        changes=year.changes,
        expired_lots=await owner.fetchval("select count(*) from lot where closed_as = 'expired'"),
        oldest_day_kept=await owner.fetchval(
            "select ledger_now()::date - usage_day_of(request_id) from usage order by request_id limit 1"
        ),
        jobs=[f"{row['name']}: {row['outcome']}" for row in jobs],
    )
