"""A usage log that grows as days pass: real calls through the ledger, on days of the test's own."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date, datetime, timedelta
from pathlib import Path
from uuid import UUID

import asyncpg
import msgspec

from tests.customers import Customer, Customers
from tests.storage.ledger.benches import RATE
from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.charge import Charge, Ending, UsageSource
from tollkeeper.core.money.prices import Usage
from tollkeeper.core.request_id import uuid7
from tollkeeper.jobs.roll_up_usage import roll_up_usage
from tollkeeper.ports import HoldOrder, Settlement
from tollkeeper.settings import Settings
from tollkeeper.storage.ledger.journal import Journal
from tollkeeper.storage.ledger.sql_ledger import SqlLedger
from tollkeeper.storage.ledger.treasury import SqlTreasury
from tollkeeper.storage.ledger.workers import register
from tollkeeper.storage.postgres.database import Database, DatabaseRole
from tollkeeper.storage.usage.cleaning import SqlCleanUsage
from tollkeeper.storage.usage.log import SqlUsageLog
from tollkeeper.storage.usage.rollups import SqlRollups

KEEP_HOLDS = timedelta(days=30)
HELD = 1_000
USUAL_USAGE = Usage(10, 5, 2)
MOVE_TIME = """
create or replace function ledger_now() returns timestamptz language sql stable parallel safe
return now() + interval '{} microseconds'
"""
SUMS = """
select count(*) as calls, coalesce(sum(input_units), 0) as input_units, coalesce(sum(charged), 0) as charged
from usage where ($1::bigint is null or account_id = $1)
"""


class UsageBench:
    def __init__(self, worker: Database, owner: asyncpg.Connection, ledger: SqlLedger, customers: Customers) -> None:
        self.owner = owner
        self.worker = worker
        self.customers = customers
        # The worker reads what the console reads.
        self.log = SqlUsageLog(worker)
        self.rollups = SqlRollups(worker)
        self.cleaning = SqlCleanUsage(worker)
        self._ledger = ledger
        self._treasury = SqlTreasury(worker)
        self._offset = timedelta(0)

    async def a_model(self) -> str:
        return await self.customers.a_model()

    async def now(self) -> datetime:
        moment: datetime = await self.owner.fetchval("select ledger_now()")
        return moment

    async def today(self) -> date:
        return (await self.now()).date()

    async def noon(self) -> None:
        """Go on to the noon that comes, so that hours more or less are still the same day."""
        now = await self.now()
        noon = now.replace(hour=12, minute=0, second=0, microsecond=0)
        await self.pass_time((noon if noon > now else noon + timedelta(days=1)) - now)

    async def pass_time(self, time: timedelta) -> None:
        self._offset += time
        await self.owner.execute(MOVE_TIME.format(int(self._offset / timedelta(microseconds=1))))
        await self._treasury.turn_partitions(KEEP_HOLDS)

    async def pass_days(self, days: int) -> None:
        for _ in range(days):
            await self.pass_time(timedelta(days=1))

    async def begin(self, customer: Customer, model_id: str) -> HoldOrder:
        price_id = await self.owner.fetchval("select max(id) from price where model_id = $1", model_id)
        price = msgspec.structs.replace(RATE.price, id=price_id, model_id=model_id)
        order = HoldOrder(
            request_id=await self._request_id(),
            account_id=customer.account_id,
            key_id=customer.key_id,
            amount=Quota(HELD),
            rate=msgspec.structs.replace(RATE, price=price),
            input_units=10,
            seconds=160,
        )
        assert (await self._ledger.hold(order)).granted
        return order

    async def end(
        self,
        order: HoldOrder,
        *,
        charged: int = 400,
        ending: Ending = Ending.COMPLETED,
        usage: Usage = USUAL_USAGE,
    ) -> None:
        charge = Charge(Quota(charged), usage, UsageSource.PROVIDER)
        settlement = Settlement(request_id=order.request_id, account_id=order.account_id, charge=charge, ending=ending)
        assert await self._ledger.settle(settlement)

    async def call(
        self, customer: Customer, model_id: str, *, charged: int = 400, ending: Ending = Ending.COMPLETED
    ) -> UUID:
        order = await self.begin(customer, model_id)
        await self.end(order, charged=charged, ending=ending)
        return order.request_id

    async def roll_up(self) -> int:
        return await roll_up_usage(self.rollups)

    async def rows(self, account_id: int | None = None) -> tuple[int, int, int]:
        """Calls, input units and charges of the log, added up the plain way."""
        row = await self.owner.fetchrow(SUMS, account_id)
        return int(row["calls"]), int(row["input_units"]), int(row["charged"])

    async def many_calls(
        self,
        customer: Customer,
        model_id: str,
        count: int,
        *,
        ending: Ending = Ending.COMPLETED,
        until: datetime | None = None,
    ) -> None:
        """Rows of today, or of some other time, without their holds: for reading, not for the books."""
        await self.owner.execute(
            "insert into usage select (left(replace(uuid_floor(at)::text, '-', ''), 13)"
            " || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid, $1, $2, price, 1000000, 10, 2, 5, 1000,"
            " 400, 'provider', $5, '[]', at, at"
            " from (select coalesce($6, ledger_now()) - interval '1 ms' * n as at,"
            " (select max(id) from price where model_id = $3) as price from generate_series(1, $4) n) calls",
            customer.account_id,
            customer.key_id,
            model_id,
            count,
            ending,
            until,
        )

    async def _request_id(self) -> UUID:
        return uuid7(int((await self.now()).timestamp() * 1_000), os.urandom(10))


@asynccontextmanager
async def a_bench(
    settings: Settings, owner: asyncpg.Connection, customers: Customers, folder: Path
) -> AsyncIterator[UsageBench]:
    worker = Database(settings.database_url, DatabaseRole.WORKER, connections=4, patience_seconds=20)
    await worker.open()
    worker_id = await register(worker, "test")
    ledger = SqlLedger(worker, worker_id, Journal(folder, worker_id), patience_seconds=20)
    bench = UsageBench(worker, owner, ledger, customers)
    await bench.noon()
    try:
        yield bench
    finally:
        await ledger.close()
        await worker.close()
