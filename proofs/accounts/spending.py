"""Spending: calls that are held and settled, so that lots are partly gone."""

import os
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg

from proofs.rig.database import a_rate
from proofs.rig.town import PATIENCE_SECONDS
from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.charge import Charge, Ending, UsageSource
from tollkeeper.core.money.prices import Usage
from tollkeeper.core.request_id import uuid7
from tollkeeper.ports import HoldOrder, Settlement
from tollkeeper.storage.ledger.journal import Journal
from tollkeeper.storage.ledger.sql_ledger import SqlLedger
from tollkeeper.storage.ledger.workers import register
from tollkeeper.storage.postgres.database import Database, DatabaseRole

PRICED = """
insert into model (id, kind) values ('gpt-4o', 'chat');
insert into price (model_id, model_multiplier, completion_multiplier) values ('gpt-4o', 1.25, 4);
"""
A_KEY = """
insert into api_key (account_id, name, pepper_version, digest, hint) values ($1, 'key', 1, $2, 'sk-a…') returning id
"""
REMAINING = "select sum(remaining)::bigint from tollkeeper.lot where account_id = $1"


class Spender:
    def __init__(self, ledger: SqlLedger, pool: asyncpg.Pool) -> None:
        self._ledger = ledger
        self._pool = pool
        self._keys: dict[int, int] = {}

    async def spend_part(self, account_id: int, part: float) -> None:
        """By one call, which draws the lots that expire first."""
        if account_id not in self._keys:
            self._keys[account_id] = await self._pool.fetchval(A_KEY, account_id, os.urandom(32))
        amount = Quota(int((await self._pool.fetchval(REMAINING, account_id) or 0) * part))
        order = HoldOrder(
            request_id=uuid7(time.time_ns() // 1_000_000, os.urandom(10)),
            account_id=account_id,
            key_id=self._keys[account_id],
            amount=amount,
            rate=a_rate(),
            input_units=1,
            seconds=60,
        )
        assert (await self._ledger.hold(order)).granted
        charge = Charge(amount, Usage(1, 1), UsageSource.PROVIDER)
        settlement = Settlement(
            request_id=order.request_id, account_id=account_id, charge=charge, ending=Ending.COMPLETED
        )
        await self._ledger.settle(settlement)


@asynccontextmanager
async def spender_at(url: str) -> AsyncIterator[Spender]:
    database = Database(url, DatabaseRole.GATEWAY, connections=4, patience_seconds=PATIENCE_SECONDS)
    await database.open()
    worker_id = await register(database, "proof")
    with tempfile.TemporaryDirectory(prefix="tollkeeper-spender-") as folder:
        ledger = SqlLedger(database, worker_id, Journal(Path(folder), worker_id), patience_seconds=PATIENCE_SECONDS)
        async with asyncpg.create_pool(
            url, min_size=1, max_size=4, server_settings={"search_path": "tollkeeper"}
        ) as pool:
            await pool.execute(PRICED)
            yield Spender(ledger, pool)
        await ledger.close()
    await database.close()
