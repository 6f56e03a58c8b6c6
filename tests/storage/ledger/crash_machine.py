"""A state machine of deaths: a worker is killed between any two steps of holding, sending, noting and settling.

Its statements go over a wire that breaks before they are executed, or after they are committed and before it knows.
Whoever comes after it settles what it left, and may be killed at that as well. The model knows what the journal and the
database had at that moment, and so what each call must have been charged. After each recovery every call is settled
once, for no less than nothing and no more than was held for it, what has no mark is free, and no hold is open.
"""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import asyncpg
import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.conftest import Stores, variables
from tests.customers import Customers
from tests.storage.ledger.benches import RATE, a_credit, a_settlement, an_order
from tests.storage.ledger.lives import Died, Host
from tests.storage.ledger.wire import Break
from tollkeeper.app.office import office
from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.charge import Charge, Ending, UsageSource
from tollkeeper.core.money.prices import Usage
from tollkeeper.ports import HoldOrder, Progress, Settlement
from tollkeeper.settings import load
from tollkeeper.storage.ledger.treasury import SqlTreasury
from tollkeeper.storage.postgres.database import Database, DatabaseRole

Result = TypeVar("Result")

LOTS, LOT_AMOUNT = 4, 400_000_000
# Some are less than what the input costs, and some more than any answer.
AMOUNTS = st.integers(0, 60_000_000)
BREAKS = st.sampled_from([None, *Break])
# So many statements a recovery has, and the sweeper after it.
STATEMENTS_MOST = 7
RECOVERIES = st.fixed_dictionaries(
    {"broken": BREAKS, "statements_before": st.integers(0, STATEMENTS_MOST - 1), "is_lost": st.booleans()}
)
UNHARMED = {"broken": None, "statements_before": 0, "is_lost": False}
BOOKED = """
select h.request_id, h.amount, h.charged, h.closed_at is null as is_open,
       (select count(*) from usage u where u.request_id = h.request_id) as receipts,
       (select sum(u.charged)::bigint from usage u where u.request_id = h.request_id) as on_receipts,
       (select coalesce(sum(e.amount), 0)::bigint from entry e
        where e.cause = h.request_id and e.kind in ('charged', 'overrun', 'debt')) as entered
from hold h where h.account_id = $1
"""
STANDING = """
select b.held, b.used, b.debt, (select sum(remaining)::bigint from lot l where l.account_id = b.account_id) as remaining
from account_books b where b.account_id = $1
"""


class KnownCall(msgspec.Struct):
    """What the journal and the database have of a call."""

    order: HoldOrder
    is_marked: bool = False
    tokens_noted: int = 0
    tokens_booked: int = 0
    # What the last line of the journal says, and what was charged.
    noted: int | None = None
    charged: int | None = None

    def due(self, *, is_lost: bool) -> int:
        """What a recovery must charge; `is_lost`: without the journal."""
        if self.charged is not None:
            return self.charged
        if not is_lost and self.noted is not None:
            return self.noted
        if not is_lost and not self.is_marked:
            return 0
        return self.price(self.tokens_booked)

    def price(self, tokens: int) -> int:
        return min(RATE.charge(Usage(self.order.input_units, tokens)), self.order.amount)


class Site:
    """One database and one event loop for all runs of the machine; each run has an account of its own."""

    def __init__(self, stores: Stores, folder: Path) -> None:
        self._loop = asyncio.new_event_loop()
        self.run(self._open(stores, folder))

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return self._loop.run_until_complete(work)

    async def _open(self, stores: Stores, folder: Path) -> None:
        chosen = load(await variables(stores))
        async with office(chosen) as desk:
            await Customers(desk).a_model()
        url = chosen.database_url.reveal()
        self.owner = await asyncpg.connect(url, server_settings={"search_path": "tollkeeper"})
        self.console = Database(url, DatabaseRole.CONSOLE, connections=2, patience_seconds=10)
        await self.console.open()
        self.worker = Database(url, DatabaseRole.WORKER, connections=2, patience_seconds=10)
        await self.worker.open()
        self.host = Host(url, self.owner, folder / "host-0")
        await self.host.life.begin()

    async def a_customer(self) -> tuple[int, int]:
        account_id = await self.owner.fetchval("insert into account (name) values ('a') returning id")
        key_id = await self.owner.fetchval(
            "insert into api_key (account_id, name, pepper_version, digest, hint)"
            " values ($1, 'k', 1, sha256(random()::text::bytea), 'h') returning id",
            account_id,
        )
        for _ in range(LOTS):
            await SqlTreasury(self.console).credit(a_credit(account_id, LOT_AMOUNT))
        return account_id, key_id

    async def close(self) -> None:
        await self.host.life.end()
        await self.worker.close()
        await self.console.close()
        await self.owner.close()

    def end(self) -> None:
        self.run(self.close())
        self._loop.close()


class CrashMachine(RuleBasedStateMachine):
    site: Site

    @initialize()
    def begin(self) -> None:
        self.account, self.key = self.site.run(self.site.a_customer())
        self.calls: list[KnownCall] = []

    @property
    def open(self) -> list[KnownCall]:
        return [call for call in self.calls if call.charged is None]

    @property
    def sent(self) -> list[KnownCall]:
        return [call for call in self.open if call.is_marked]

    @rule(amount=AMOUNTS, broken=BREAKS, dies=st.booleans(), recovery=RECOVERIES)
    def hold(self, amount: int, broken: Break | None, dies: bool, recovery: dict[str, Any]) -> None:
        order = an_order(self.account, self.key, amount)
        if self.is_done(broken, dies, self.site.host.ledger.hold(order)):
            self.calls.append(KnownCall(order))
        self.recover_if(broken, dies, recovery)

    @precondition(lambda self: self.open)
    @rule(which=st.integers(0, 9))
    def mark_as_sent(self, which: int) -> None:
        call = self.open[which % len(self.open)]
        self.site.host.ledger.note_sending(call.order.request_id)
        call.is_marked = True

    @precondition(lambda self: self.sent)
    @rule(which=st.integers(0, 9), more=st.integers(1, 20), broken=BREAKS, dies=st.booleans(), recovery=RECOVERIES)
    def checkpoint(self, which: int, more: int, broken: Break | None, dies: bool, recovery: dict[str, Any]) -> None:
        call = self.sent[which % len(self.sent)]
        call.tokens_noted += more
        call.noted = call.price(call.tokens_noted)
        usage = Usage(call.order.input_units, call.tokens_noted)
        self.site.host.ledger.note(noted(call.order, call.noted, usage))
        progress = Progress(request_id=call.order.request_id, usage=usage, seconds=160)
        if self.is_done(broken, dies, self.site.host.ledger.checkpoint(progress)):
            call.tokens_booked = call.tokens_noted
        self.recover_if(broken, dies, recovery)

    @precondition(lambda self: self.open)
    @rule(
        which=st.lists(st.integers(0, 9), min_size=1, max_size=3),
        share=st.integers(0, 100),
        broken=BREAKS,
        dies=st.booleans(),
        recovery=RECOVERIES,
    )
    def settle(self, which: list[int], share: int, broken: Break | None, dies: bool, recovery: dict[str, Any]) -> None:
        """In one batch."""
        calls = [self.open[place] for place in {number % len(self.open) for number in which}]
        for call in calls:
            call.noted = call.order.amount * share // 100

        async def at_once() -> list[bool]:
            settling = [self.site.host.ledger.settle(a_settlement(call.order, call.noted or 0)) for call in calls]
            return list(await asyncio.gather(*settling))

        if self.is_done(broken, dies, at_once()):
            for call in calls:
                call.charged = call.noted
        self.recover_if(broken, dies, recovery)

    @rule(recovery=RECOVERIES)
    def die(self, recovery: dict[str, Any]) -> None:
        self.site.run(self.site.host.life.die())
        self.recover(recovery)

    def is_done(self, broken: Break | None, dies: bool, act: Coroutine[Any, Any, Any]) -> bool:
        """Whether the database has what was asked of it. A worker that lives sends again what was broken."""
        life = self.site.host.life
        life.wire.arm(broken, is_last=dies)
        try:
            self.site.run(life.until_broken(act))
        except Died:
            return broken is Break.UNSEEN
        return True

    def recover_if(self, broken: Break | None, dies: bool, recovery: dict[str, Any]) -> None:
        if broken is not None and dies:
            self.recover(recovery)

    def recover(self, recovery: dict[str, Any]) -> None:
        self.site.run(self.site.host.recover(**recovery))
        for call in self.calls:
            call.charged = call.due(is_lost=recovery["is_lost"])
        self.check()

    def check(self) -> None:
        """Every call is settled once, as it must be, and the account has what is left."""
        rows = self.site.run(self.site.owner.fetch(BOOKED, self.account))
        assert {row["request_id"]: row["charged"] for row in rows} == {
            call.order.request_id: call.charged for call in self.calls
        }
        for row in rows:
            assert not row["is_open"]
            assert (row["receipts"], row["on_receipts"], row["entered"]) == (1, row["charged"], row["charged"])
            assert 0 <= row["charged"] <= row["amount"]
        used = sum(row["charged"] for row in rows)
        standing = self.site.run(self.site.owner.fetchrow(STANDING, self.account))
        assert tuple(standing) == (0, used, 0, LOTS * LOT_AMOUNT - used)

    def teardown(self) -> None:
        if hasattr(self, "calls"):
            self.die(UNHARMED)


def noted(order: HoldOrder, amount: int, usage: Usage) -> Settlement:
    """What a checkpoint writes into the journal."""
    due = Charge(Quota(amount), usage, UsageSource.JOURNAL)
    return Settlement(request_id=order.request_id, account_id=order.account_id, charge=due, ending=Ending.OWNER_DIED)
