"""Two ledgers, one bench: what the contract suite needs of either."""

import os
import time
from datetime import UTC, datetime, timedelta
from typing import Protocol
from uuid import UUID, uuid4

import asyncpg

from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.balance import BalanceFigures
from tollkeeper.core.money.charge import Charge, Ending, UsageSource
from tollkeeper.core.money.prices import MILLIONTHS, Price, Rate, Usage
from tollkeeper.core.request_id import uuid7
from tollkeeper.ports import Credit, Credited, Extension, HoldOrder, Ledger, Revoked, Settlement, Treasury
from tollkeeper.storage.customers.accounts import SqlBalances
from tollkeeper.storage.customers.lot_desk import EXTEND
from tollkeeper.storage.ledger.memory_ledger import MemoryAccount, MemoryKey, MemoryLedger
from tollkeeper.storage.ledger.sql_ledger import SqlLedger
from tollkeeper.storage.ledger.treasury import SqlTreasury
from tollkeeper.storage.postgres.database import Database

RATE = Rate(
    Price(
        id=1,
        model_id="m",
        effective_from=datetime(2026, 1, 1, tzinfo=UTC),
        model=MILLIONTHS,
        completion=MILLIONTHS,
        cached=MILLIONTHS,
    ),
    MILLIONTHS,
)


def a_request_id() -> UUID:
    return uuid7(time.time_ns() // 1_000_000, os.urandom(10))


def an_order(account_id: int, key_id: int, amount: int, request_id: UUID | None = None) -> HoldOrder:
    return HoldOrder(
        request_id=request_id or a_request_id(),
        account_id=account_id,
        key_id=key_id,
        amount=Quota(amount),
        rate=RATE,
        input_units=10,
        seconds=160,
    )


def an_extension(order: HoldOrder, sequence: int, amount: int) -> Extension:
    return Extension(
        request_id=order.request_id,
        sequence=sequence,
        account_id=order.account_id,
        key_id=order.key_id,
        amount=Quota(amount),
        seconds=160,
    )


USUAL_USAGE = Usage(10, 5)


def a_settlement(
    order: HoldOrder, amount: int, ending: Ending = Ending.COMPLETED, *, usage: Usage = USUAL_USAGE
) -> Settlement:
    charge = Charge(Quota(amount), usage, UsageSource.PROVIDER)
    return Settlement(request_id=order.request_id, account_id=order.account_id, charge=charge, ending=ending)


def a_credit(account_id: int, amount: int, *, key_id: int | None = None, months: int = 9, days: int = 0) -> Credit:
    return Credit(
        account_id=account_id,
        key_id=key_id,
        amount=Quota(amount),
        source="test",
        source_id=uuid4().hex,
        months=months,
        days=days,
    )


class BenchTreasury(Treasury, Protocol):
    """The port, and what operators do to a lot by its desk."""

    async def extend_lot(self, lot_id: int, until: datetime) -> bool: ...


class Bench(Protocol):
    ledger: Ledger
    treasury: BenchTreasury

    async def account(self) -> int: ...
    async def key(
        self,
        account_id: int,
        *,
        quota: int | None = None,
        daily_budget: int | None = None,
        monthly_budget: int | None = None,
    ) -> int: ...
    async def standing(self, key_id: int) -> BalanceFigures: ...
    async def entries(self, account_id: int) -> dict[str, int]: ...
    async def remaining(self, lot_id: int) -> int: ...
    async def pass_time(self, time: timedelta) -> None: ...
    async def now(self) -> datetime: ...


class MemoryBench:
    def __init__(self) -> None:
        self._now = datetime.now(UTC)
        self._ledger = MemoryLedger(lambda: self._now)
        self.ledger: Ledger = self._ledger
        self.treasury: BenchTreasury = self._ledger

    async def account(self) -> int:
        account_id = len(self._ledger.accounts) + 1
        self._ledger.accounts[account_id] = MemoryAccount()
        return account_id

    async def key(
        self,
        account_id: int,
        *,
        quota: int | None = None,
        daily_budget: int | None = None,
        monthly_budget: int | None = None,
    ) -> int:
        key_id = len(self._ledger.keys) + 1
        self._ledger.keys[key_id] = MemoryKey(account_id, quota, daily_budget, monthly_budget)
        return key_id

    async def standing(self, key_id: int) -> BalanceFigures:
        return await self._ledger.standing(key_id)

    async def entries(self, account_id: int) -> dict[str, int]:
        totals: dict[str, int] = {}
        for entry in self._ledger.entries:
            if entry.account_id == account_id:
                totals[entry.kind] = totals.get(entry.kind, 0) + entry.amount
        return totals

    async def remaining(self, lot_id: int) -> int:
        return self._ledger.lots[lot_id].lot.remaining

    async def pass_time(self, time: timedelta) -> None:
        self._now += time

    async def now(self) -> datetime:
        return self._now


class SqlBench:
    def __init__(
        self, ledger: SqlLedger, treasury: "BothTreasuries", balances: SqlBalances, owner: asyncpg.Connection
    ) -> None:
        self.ledger: Ledger = ledger
        self.treasury: BenchTreasury = treasury
        self._balances = balances
        self._owner = owner
        self._offset = timedelta(0)

    async def account(self) -> int:
        account_id: int = await self._owner.fetchval("insert into account (name) values ('a') returning id")
        return account_id

    async def key(
        self,
        account_id: int,
        *,
        quota: int | None = None,
        daily_budget: int | None = None,
        monthly_budget: int | None = None,
    ) -> int:
        key_id: int = await self._owner.fetchval(
            "insert into api_key (account_id, name, pepper_version, digest, hint, quota, daily_budget, monthly_budget)"
            " values ($1, 'k', 1, $2, 'h', $3, $4, $5) returning id",
            account_id,
            os.urandom(32),
            quota,
            daily_budget,
            monthly_budget,
        )
        return key_id

    async def standing(self, key_id: int) -> BalanceFigures:
        return await self._balances.standing(key_id)

    async def entries(self, account_id: int) -> dict[str, int]:
        rows = await self._owner.fetch(
            "select kind, sum(amount)::bigint as amount from entry where account_id = $1 group by kind", account_id
        )
        return {row["kind"]: row["amount"] for row in rows}

    async def remaining(self, lot_id: int) -> int:
        left: int = await self._owner.fetchval("select remaining from lot where id = $1", lot_id)
        return left

    async def pass_time(self, time: timedelta) -> None:
        self._offset += time
        microseconds = int(self._offset / timedelta(microseconds=1))
        await self._owner.execute(
            "create or replace function ledger_now() returns timestamptz language sql stable parallel safe"
            f" return now() + interval '{microseconds} microseconds'"
        )

    async def now(self) -> datetime:
        moment: datetime = await self._owner.fetchval("select ledger_now()")
        return moment


class BothTreasuries(SqlTreasury):
    """The console's work and the worker's, each under its own role."""

    def __init__(self, worker: Database, console: Database) -> None:
        super().__init__(worker)
        self._by_hand = SqlTreasury(console)
        self._console = console

    async def credit(self, credit: Credit) -> Credited:
        return await self._by_hand.credit(credit)

    async def extend_lot(self, lot_id: int, until: datetime) -> bool:
        return bool((await self._console.row(EXTEND, lot_id, until, "", "bench"))[0])

    async def revoke(self, lot_id: int, reason: str = "") -> Revoked:
        return await self._by_hand.revoke(lot_id, reason)
