"""Several connections that see one and the same snapshot of the database, and share work."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, TypeVar

import asyncpg

from tollkeeper.storage.ledger.books import PATIENCE_SECONDS, take_time
from tollkeeper.storage.postgres.database import Database

T = TypeVar("T")
Work = Callable[[asyncpg.Connection], Awaitable[T]]


@asynccontextmanager
async def snapshot(database: Database, lanes: int) -> AsyncIterator[list[asyncpg.Connection]]:
    """Connections that share a snapshot. The first exported it; the others are those that are free now, and all are at
    most half of the pool.

    A check may take hours, and the jobs of its process go on beside it.
    """
    most = min(lanes, database.connections // 2)
    async with AsyncExitStack() as stack:
        first = await _reading(stack, database)
        name = await first.fetchval("select pg_export_snapshot()")
        connections = [first]
        while len(connections) < most and database.has_long_place:
            connections.append(await _reading(stack, database, name))
        for connection in connections:
            await take_time(connection)
        yield connections


async def share(connections: Sequence[asyncpg.Connection], works: Sequence[Work[T]]) -> list[T]:
    """Do all of it, each connection one after the other; what came of it, in the order of `works`."""
    results: dict[int, T] = {}
    waiting = iter(enumerate(works))
    await together(*(_work_off(connection, waiting, results) for connection in connections))
    return [results[place] for place in range(len(works))]


async def together(*acts: Coroutine[Any, Any, Any]) -> list[Any]:
    """Do all at once. Where one fails nobody goes on: their connections are about to be given back."""
    tasks = [asyncio.create_task(act) for act in acts]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _work_off(
    connection: asyncpg.Connection, waiting: Iterator[tuple[int, Work[T]]], results: dict[int, T]
) -> None:
    for place, work in waiting:
        results[place] = await work(connection)


async def _reading(stack: AsyncExitStack, database: Database, name: str | None = None) -> asyncpg.Connection:
    connection = await stack.enter_async_context(database.session(patience_seconds=PATIENCE_SECONDS))
    await stack.enter_async_context(connection.transaction(isolation="repeatable_read", readonly=True))
    if name is not None:
        await connection.execute(f"set transaction snapshot '{name}'")
    return connection
