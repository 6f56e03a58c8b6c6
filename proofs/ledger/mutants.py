"""Mutants: the ledger's SQL with a safeguard taken out. Each must be caught by books, counts or database."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable

import asyncpg
import msgspec

from proofs.rig.database import connect
from tollkeeper.core.request_id import uuid7
from tollkeeper.storage.ledger.books import check_books
from tollkeeper.storage.postgres.database import Database, DatabaseRole

HOLD = "select verdict from hold_batch($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
SETTLE = "select settled from settle_batch($1, $2, $3, $4, $5, $6, $7, $8, $9)"
LOCK = "perform from account_books where account_id = any (p_account) order by account_id for update;"


class Mutant(msgspec.Struct, frozen=True):
    name: str
    function: str
    safeguard: str
    instead: str
    provoke: Callable[[str], Awaitable[None]]


async def caught(mutant: Mutant, url: str) -> bool:
    """Whether the mutant shows itself, on a database where the unharmed functions do not."""
    await mutant.provoke(url)
    assert await books_are_clean(url), f"{mutant.name}: caught without the mutation"
    connection = await connect(url)
    try:
        source: str = await connection.fetchval(
            "select pg_get_functiondef(oid) from pg_proc where proname = $1", mutant.function
        )
        assert mutant.safeguard in source, f"{mutant.name}: the safeguard is not there to be taken out"
        await connection.execute(source.replace(mutant.safeguard, mutant.instead))
    finally:
        await connection.close()
    try:
        await mutant.provoke(url)
    except (asyncpg.IntegrityConstraintViolationError, AssertionError):
        return True
    return not await books_are_clean(url)


async def books_are_clean(url: str) -> bool:
    database = Database(url, DatabaseRole.WORKER, connections=1, patience_seconds=60)
    await database.open()
    try:
        return not any(verdict.findings for verdict in await check_books(database))
    finally:
        await database.close()


async def _race_for_one_account(url: str) -> None:
    """Many connections hold from the same lot at once."""
    connections = [await connect(url) for _ in range(8)]
    try:
        for _ in range(20):
            await asyncio.gather(*(_hold(connection, 5) for connection in connections))
    finally:
        for connection in connections:
            await connection.close()


async def _settle_twice(url: str) -> None:
    connection = await connect(url)
    try:
        held = await _hold(connection, 1)
        assert await _settle(connection, held) == [True]
        assert await _settle(connection, held) == [False]
    finally:
        await connection.close()


async def _give_back_to_a_closed_lot(url: str) -> None:
    connection = await connect(url)
    try:
        await connection.execute("update lot set expires_at = now() + interval '1 s' where account_id = 1")
        lapsing = await connection.fetchval(
            "select lot_id from credit(2, null, 1000000, 'mutant', $1, 1, 0)", os.urandom(8).hex()
        )
        await connection.execute("update lot set expires_at = now() + interval '300 ms' where id = $1", lapsing)
        held = await _hold(connection, 1, account=2)
        await connection.execute("select pg_sleep(0.4)")
        await connection.execute("select close_lots(interval '0', 1000)")
        await _settle(connection, held, account=2)
    finally:
        await connection.close()


MUTANTS = (
    Mutant("no lock", "hold_batch", LOCK, "", _race_for_one_account),
    Mutant("no guard against a second settle", "settle_batch", "and h.charged is null", "", _settle_twice),
    Mutant(
        "what comes back to a closed lot is not entered",
        "settle_batch",
        "from parts where back > 0 and closed_as is not null",
        "from parts where false",
        _give_back_to_a_closed_lot,
    ),
)


async def _hold(connection: asyncpg.Connection, rows: int, account: int = 1) -> list[object]:
    ids: list[object] = [uuid7(time.time_ns() // 1_000_000, os.urandom(10)) for _ in range(rows)]
    worker = await connection.fetchval("insert into worker (node) values ('mutant') returning id")
    folk, ones = [account] * rows, [1] * rows
    await connection.fetch(HOLD, worker, ids, [0] * rows, folk, folk, [1_000] * rows, ones, ones, ones, [60] * rows)
    return ids


async def _settle(connection: asyncpg.Connection, ids: list[object], account: int = 1) -> list[bool]:
    many = len(ids)
    ones, text = [1] * many, ["completed"] * many
    rows = await connection.fetch(
        SETTLE, ids, [account] * many, [10] * many, ones, [0] * many, ones, text, text, ["[]"] * many
    )
    return [row["settled"] for row in rows]
