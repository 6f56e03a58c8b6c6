"""The race: four processes fight for a balance that is enough for exactly 1,000 calls."""

import asyncio
import multiprocessing
import os
import tempfile
import time
from multiprocessing.sharedctypes import SynchronizedArray
from multiprocessing.synchronize import Barrier
from pathlib import Path

from proofs.rig.database import a_rate, connect
from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.request_id import uuid7
from tollkeeper.ports import HoldOrder
from tollkeeper.storage.ledger.journal import Journal
from tollkeeper.storage.ledger.sql_ledger import SqlLedger
from tollkeeper.storage.ledger.workers import register
from tollkeeper.storage.postgres.database import Database, DatabaseRole

RACERS = 4
CALLS_EACH = 800
CALLS_PAID = 1_000
PRICE = 1_000


async def run(url: str, rounds: int) -> list[int]:
    """How many calls each round admitted, as the racers were told; the books must say the same."""
    accounts = await _accounts(url, rounds)
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(RACERS)
    granted = context.Array("i", rounds)
    racers = [context.Process(target=_race, args=(url, accounts, barrier, granted)) for _ in range(RACERS)]
    for racer in racers:
        racer.start()
    for racer in racers:
        await asyncio.to_thread(racer.join)
    assert all(racer.exitcode == 0 for racer in racers)
    connection = await connect(url)
    try:
        rows = await connection.fetch(
            "select count(h.request_id) as admitted from unnest($1::bigint[]) a (id)"
            " left join hold h on h.account_id = a.id group by a.id order by a.id",
            [account for account, _ in accounts],
        )
        assert [row["admitted"] for row in rows] == granted[:], "racers were told otherwise than the books say"
        return granted[:]
    finally:
        await connection.close()


async def _accounts(url: str, rounds: int) -> list[tuple[int, int]]:
    connection = await connect(url)
    try:
        made = []
        for number in range(rounds):
            account = await connection.fetchval("insert into account (name) values ('race') returning id")
            key = await connection.fetchval(
                "insert into api_key (account_id, name, pepper_version, digest, hint)"
                " values ($1, 'k', 1, $2, 'h') returning id",
                account,
                os.urandom(32),
            )
            # In lots of odd sizes, so that many a hold is drawn from two.
            left, part = CALLS_PAID * PRICE, 0
            while left:
                part += 1
                size = min(left, 77_777)
                await connection.fetchval(
                    "select credit($1, null, $2, 'race', $3, 9, 0)", account, size, f"{number}-{part}"
                )
                left -= size
            made.append((account, key))
        return made
    finally:
        await connection.close()


def _race(url: str, accounts: list[tuple[int, int]], barrier: Barrier, granted: "SynchronizedArray[int]") -> None:
    asyncio.run(_racer(url, accounts, barrier, granted))


async def _racer(
    url: str, accounts: list[tuple[int, int]], barrier: Barrier, granted: "SynchronizedArray[int]"
) -> None:
    database = Database(url, DatabaseRole.GATEWAY, connections=4, patience_seconds=30)
    await database.open()
    worker_id = await register(database, "race")
    with tempfile.TemporaryDirectory(prefix="tollkeeper-race-") as folder:
        ledger = SqlLedger(database, worker_id, Journal(Path(folder), worker_id), patience_seconds=30)
        for number, (account, key) in enumerate(accounts):
            await asyncio.to_thread(barrier.wait)
            orders = [
                HoldOrder(
                    request_id=uuid7(time.time_ns() // 1_000_000, os.urandom(10)),
                    account_id=account,
                    key_id=key,
                    amount=Quota(PRICE),
                    rate=a_rate(),
                    input_units=1,
                    seconds=3_600,
                )
                for _ in range(CALLS_EACH)
            ]
            verdicts = await asyncio.gather(*map(ledger.hold, orders))
            with granted.get_lock():
                granted[number] += sum(verdict.granted for verdict in verdicts)
        await ledger.close()
    await database.close()
