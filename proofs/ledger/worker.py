"""A worker that makes calls until told to stop: hold, ask upstream, settle; now and then it settles twice.

It runs the product's own bookkeeper, and may be killed at any moment.
"""

import asyncio
import os
import random
import signal
import sys
import time
from pathlib import Path
from uuid import UUID

import msgspec

from tollkeeper.core.errors import Unavailable
from tollkeeper.core.money.charge import Charge, Ending, UsageSource
from tollkeeper.core.money.prices import Rate, Usage
from tollkeeper.core.request_id import uuid7
from tollkeeper.ports import HoldOrder, Settlement
from tollkeeper.storage.ledger.bookkeeper import Bookkeeper
from tollkeeper.storage.postgres.database import Database, DatabaseRole

HOLD_OUTPUT_TOKENS = 400


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker is told on its command line, as JSON."""

    database_url: str
    journal_folder: str
    upstream_port: int
    rate: Rate
    accounts: int
    concurrency: int
    duplicate_share: float
    seed: int


class Upstream:
    """The worker's connection to the stand-in."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._waiting: dict[UUID, asyncio.Future[int]] = {}

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._reading = asyncio.create_task(self._read())

    async def call(self, request_id: UUID, account_id: int, input_tokens: int) -> int:
        answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = answer
        self._writer.write(f"CALL {request_id} {account_id} {input_tokens}\n".encode())
        return await answer

    def done(self, request_id: UUID) -> None:
        self._writer.write(f"DONE {request_id}\n".encode())

    async def close(self) -> None:
        await self._writer.drain()
        self._writer.close()

    async def _read(self) -> None:
        while line := await self._reader.readline():
            request_id, output = line.decode().split()
            self._waiting.pop(UUID(request_id)).set_result(int(output))


class Worker:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._chance = random.Random(plan.seed)
        self._stopping = False
        self._upstream = Upstream(plan.upstream_port)

    def stop(self) -> None:
        self._stopping = True

    async def work(self) -> None:
        plan = self._plan
        database = Database(plan.database_url, DatabaseRole.GATEWAY, connections=4, patience_seconds=4)
        await database.open()
        await self._upstream.open()
        bookkeeper = Bookkeeper(database, f"rig-{os.getpid()}", Path(plan.journal_folder), patience_seconds=4)
        living = asyncio.create_task(bookkeeper.live())
        await asyncio.gather(*(self._customer(bookkeeper) for _ in range(plan.concurrency)))
        living.cancel()
        await asyncio.gather(living, return_exceptions=True)
        await bookkeeper.close()
        await self._upstream.close()
        await database.close()

    async def _customer(self, bookkeeper: Bookkeeper) -> None:
        """One customer after the other; who meets a store that is away comes again."""
        while not self._stopping:
            try:
                await self._call(bookkeeper)
            except Unavailable:
                await asyncio.sleep(0.1)

    async def _call(self, bookkeeper: Bookkeeper) -> None:
        ledger = bookkeeper.ledger
        account_id = self._chance.randrange(1, self._plan.accounts + 1)
        input_tokens = self._chance.randrange(1, 200)
        request_id = uuid7(time.time_ns() // 1_000_000, os.urandom(10))
        rate = self._plan.rate
        order = HoldOrder(
            request_id=request_id,
            account_id=account_id,
            key_id=account_id,
            amount=rate.ceiling(Usage(input_tokens, HOLD_OUTPUT_TOKENS)),
            rate=rate,
            input_units=input_tokens,
            seconds=160,
        )
        verdict = await ledger.hold(order)
        if not verdict.granted:
            return
        output_tokens = await self._upstream.call(request_id, account_id, input_tokens)
        usage = Usage(input_tokens, output_tokens)
        settlement = Settlement(
            request_id=request_id,
            account_id=account_id,
            charge=Charge(rate.charge(usage), usage, UsageSource.PROVIDER),
            ending=Ending.COMPLETED,
        )
        settled = ledger.settle(settlement)
        # In the journal: the customer may have the last byte now.
        self._upstream.done(request_id)
        if self._chance.random() < self._plan.duplicate_share:
            await asyncio.gather(ledger.settle(settlement), settled)
        else:
            await settled


async def main() -> None:
    worker = Worker(msgspec.json.decode(sys.argv[1], type=Plan))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
    await worker.work()


if __name__ == "__main__":
    asyncio.run(main())
