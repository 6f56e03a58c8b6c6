"""A state machine: any order of credits, holds, extensions, settles, closings and revocations, on the real database.

The twin in memory is the model. After each step both tell the same verdicts and balances; after each run the books of
the account are clean.
"""

import asyncio
from collections.abc import Coroutine, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import asyncpg
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    multiple,
    rule,
    run_state_machine_as_test,
)

from tests.conftest import Stores, variables
from tests.customers import Customers
from tests.storage.ledger.benches import BothTreasuries, a_credit, a_settlement, an_extension, an_order
from tollkeeper.app.office import office
from tollkeeper.ports import Credit, HoldOrder
from tollkeeper.settings import load
from tollkeeper.storage.customers.accounts import SqlBalances
from tollkeeper.storage.ledger.books import check_books
from tollkeeper.storage.ledger.journal import Journal
from tollkeeper.storage.ledger.memory_ledger import MemoryAccount, MemoryKey, MemoryLedger
from tollkeeper.storage.ledger.orphans import SqlOrphans
from tollkeeper.storage.ledger.sql_ledger import SqlLedger
from tollkeeper.storage.ledger.workers import register
from tollkeeper.storage.postgres.database import Database, DatabaseRole

Result = TypeVar("Result")

AMOUNTS = st.integers(1, 120)
# Both ledgers read the time from here.
FROZEN_CLOCK = """
create table test_clock (at timestamptz not null);
grant select on test_clock to public;
insert into test_clock values ('2026-03-10 12:00:00+00');
create or replace function ledger_now() returns timestamptz language sql stable parallel safe
    return (select at from tollkeeper.test_clock);
"""


class Workshop:
    """One database and one event loop for all runs of the machine; each run has an account of its own."""

    def __init__(self, stores: Stores, folder: Path) -> None:
        self._loop = asyncio.new_event_loop()
        self.now = datetime(2026, 3, 10, 12, tzinfo=UTC)
        self.run(self._open(stores, folder))

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return self._loop.run_until_complete(work)

    async def _open(self, stores: Stores, folder: Path) -> None:
        chosen = load(await variables(stores))
        async with office(chosen) as desk:
            await Customers(desk).a_model()
        url = chosen.database_url.reveal()
        self.owner = await asyncpg.connect(url, server_settings={"search_path": "tollkeeper"})
        await self.owner.execute(FROZEN_CLOCK)
        self.database = Database(url, DatabaseRole.WORKER, connections=4, patience_seconds=10)
        await self.database.open()
        worker_id = await register(self.database, "machine")
        self.ledger = SqlLedger(self.database, worker_id, Journal(folder, worker_id), patience_seconds=10)
        self.console = Database(url, DatabaseRole.CONSOLE, connections=2, patience_seconds=10)
        await self.console.open()
        self.treasury = BothTreasuries(self.database, self.console)
        self.balances = SqlBalances(self.database)

    async def set_time(self, now: datetime) -> None:
        self.now = now
        await self.owner.execute("update test_clock set at = $1", now)

    async def an_account(self) -> int:
        account_id: int = await self.owner.fetchval("insert into account (name) values ('a') returning id")
        return account_id

    async def a_key(self, account_id: int, quota: int | None, daily_budget: int | None) -> int:
        key_id: int = await self.owner.fetchval(
            "insert into api_key (account_id, name, pepper_version, digest, hint, quota, daily_budget)"
            " values ($1, 'k', 1, sha256(random()::text::bytea), 'h', $2, $3) returning id",
            account_id,
            quota,
            daily_budget,
        )
        return key_id

    async def settle_orphans(self) -> None:
        for settlement in await SqlOrphans(self.database).find():
            await self.ledger.settle(settlement)

    async def close(self) -> None:
        await self.ledger.close()
        await self.console.close()
        await self.database.close()
        await self.owner.close()

    def end(self) -> None:
        self.run(self.close())
        self._loop.close()


@pytest.fixture
def workshop(stores: Stores, tmp_path: Path) -> Iterator[Workshop]:
    opened = Workshop(stores, tmp_path)
    yield opened
    verdicts = opened.run(check_books(opened.database))
    opened.end()
    assert [verdict for verdict in verdicts if verdict.findings] == []


class LedgerMachine(RuleBasedStateMachine):
    workshop: Workshop
    holds = Bundle("holds")
    taken_in = Bundle("taken_in")

    @initialize(quota=st.none() | st.integers(0, 300), budget=st.none() | st.integers(0, 200))
    def begin(self, quota: int | None, budget: int | None) -> None:
        self.model = MemoryLedger(lambda: self.workshop.now)
        self.account = self.workshop.run(self.workshop.an_account())
        self.model.accounts[self.account] = MemoryAccount()
        self.keys = []
        for quota_of_key, budget_of_key in ((None, None), (quota, budget)):
            key_id = self.workshop.run(self.workshop.a_key(self.account, quota_of_key, budget_of_key))
            self.model.keys[key_id] = MemoryKey(self.account, quota_of_key, budget_of_key)
            self.keys.append(key_id)
        self.lots: dict[int, int] = {}

    @rule(target=taken_in, amount=AMOUNTS, days=st.integers(1, 4), bound_to=st.none() | st.integers(0, 1))
    def credit(self, amount: int, days: int, bound_to: int | None) -> Credit:
        key_id = None if bound_to is None else self.keys[bound_to]
        credit = a_credit(self.account, amount, key_id=key_id, months=0, days=days)
        self._credit(credit)
        return credit

    @rule(credit=taken_in)
    def credit_again(self, credit: Credit) -> None:
        self._credit(credit)

    def _credit(self, credit: Credit) -> None:
        real, modelled = self.both(self.workshop.treasury.credit(credit), self.model.credit(credit))
        assert (real.replayed, real.expires_at) == (modelled.replayed, modelled.expires_at)
        self.lots[modelled.lot_id] = real.lot_id
        self.compare()

    @rule(target=holds, amount=st.integers(0, 120), key=st.integers(0, 1))
    def hold(self, amount: int, key: int) -> HoldOrder | Any:
        order = an_order(self.account, self.keys[key], amount)
        real, modelled = self.both(self.workshop.ledger.hold(order), self.model.hold(order))
        assert real == modelled
        self.compare()
        return order if real.granted else multiple()

    @rule(order=holds)
    def hold_again(self, order: HoldOrder) -> None:
        real, modelled = self.both(self.workshop.ledger.hold(order), self.model.hold(order))
        assert real == modelled
        self.compare()

    @rule(order=holds, sequence=st.integers(1, 3), amount=AMOUNTS)
    def extend(self, order: HoldOrder, sequence: int, amount: int) -> None:
        extension = an_extension(order, sequence, amount)
        real, modelled = self.both(self.workshop.ledger.extend(extension), self.model.extend(extension))
        assert real == modelled
        self.compare()

    @rule(order=consumes(holds), amount=st.integers(0, 200), twice=st.booleans())
    def settle(self, order: HoldOrder, amount: int, twice: bool) -> None:
        for _ in range(1 + twice):
            settlement = a_settlement(order, amount)
            real, modelled = self.both(self._settle_really(settlement), self._settle_in_model(settlement))
            assert real == modelled
            self.compare()

    @rule(orders=st.lists(consumes(holds), min_size=2, max_size=4), amount=st.integers(0, 120))
    def settle_at_once(self, orders: list[HoldOrder], amount: int) -> None:
        """In one batch. Which lots pay a debt depends on the order of settles, so here nobody owes anything."""
        if self.model.accounts[self.account].debt:
            return
        settlements = [a_settlement(order, min(amount, order.amount)) for order in orders]

        async def at_once() -> list[bool]:
            return list(await asyncio.gather(*map(self.workshop.ledger.settle, settlements)))

        real = self.workshop.run(at_once())
        modelled = [self.workshop.run(self._settle_in_model(settlement)) for settlement in settlements]
        assert real == modelled
        self.compare()

    @rule(hours=st.integers(1, 40))
    def pass_time(self, hours: int) -> None:
        self.workshop.run(self.workshop.set_time(self.workshop.now + timedelta(hours=hours)))
        self.compare()

    @rule()
    def close_lots(self) -> None:
        self.both(self.workshop.treasury.close_lots(timedelta(hours=24)), self.model.close_lots(timedelta(hours=24)))
        self.compare()

    @rule(data=st.data())
    def extend_lot(self, data: st.DataObject) -> None:
        if not self.lots:
            return
        lot = data.draw(st.sampled_from(sorted(self.lots)))
        until = self.workshop.now + timedelta(days=2)
        real, modelled = self.both(
            self.workshop.treasury.extend_lot(self.lots[lot], until), self.model.extend_lot(lot, until)
        )
        assert real == modelled
        self.compare()

    @rule(data=st.data())
    def revoke(self, data: st.DataObject) -> None:
        if not self.lots:
            return
        lot = data.draw(st.sampled_from(sorted(self.lots)))
        real, modelled = self.both(self.workshop.treasury.revoke(self.lots[lot]), self.model.revoke(lot))
        assert real == modelled
        self.compare()

    def teardown(self) -> None:
        if not hasattr(self, "model"):
            return
        for hold in self.model.holds.values():
            if hold.charged is None:
                settlement = a_settlement(hold.order, 1)
                self.both(self._settle_really(settlement), self._settle_in_model(settlement))
        self.compare()

    def both(self, real: Coroutine[Any, Any, Result], modelled: Coroutine[Any, Any, Result]) -> tuple[Result, Result]:
        return self.workshop.run(real), self.workshop.run(modelled)

    async def _settle_really(self, settlement: Any) -> bool:
        return await self.workshop.ledger.settle(settlement)

    async def _settle_in_model(self, settlement: Any) -> bool:
        return await self.model.settle(settlement)

    def compare(self) -> None:
        """Balances, books and every lot agree."""
        self.compare_totals()
        rows = self.workshop.run(
            self.workshop.owner.fetch("select id, remaining from lot where account_id = $1", self.account)
        )
        real = {row["id"]: row["remaining"] for row in rows}
        modelled = {self.lots[lot]: filed.lot.remaining for lot, filed in self.model.lots.items()}
        assert real == modelled

    def compare_totals(self) -> None:
        for key_id in self.keys:
            real, modelled = self.both(self.workshop.balances.standing(key_id), self.model.standing(key_id))
            assert real == modelled


def test_any_order_of_acts_keeps_the_books(workshop: Workshop) -> None:
    class Machine(LedgerMachine):
        pass

    Machine.workshop = workshop
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=300,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
