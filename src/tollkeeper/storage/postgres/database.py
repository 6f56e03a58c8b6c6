"""The connection to PostgreSQL: one pool per process, least privilege, bounded waits.

Rules of this file
1. Every session takes on the role of the part it serves. (It could put it off again: give each part a login of its own
   that is a member of no other role.)
2. A database that is away, frozen or out of connections becomes `StoreUnavailable` within `patience_seconds`.
3. Who asks for more than the usual patience has a long session. Together they leave one connection for all others:
   a worker's heartbeat waits for no job. (A pool of one connection has none to leave.)
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from enum import StrEnum
from typing import Any

import asyncpg

from tollkeeper import __version__
from tollkeeper.core.errors import StoreUnavailable
from tollkeeper.core.people.reasons import reason_said
from tollkeeper.steady import Timeout
from tollkeeper.storage.postgres.connecting import connect
from tollkeeper.storage.postgres.trouble import DatabaseTrouble, place_of_database, trouble_in

# Classes of SQLSTATE that speak of the server and our way to it, not of what we asked: connection, authorisation,
# no such database, resources, operator intervention, system errors, errors of its own.
AWAY_CLASSES = {"08", "28", "3D", "53", "57", "58", "XX"}
# Read-only after a failover, lock not available, serialization failure, deadlock, ended while it waited for us, another
# server than the one that had prepared it.
AWAY_STATES = {"25006", "55P03", "40001", "40P01", "25P03", "26000"}

# Until the end of the transaction: sessions are never changed here.
SAY_WHY = "select set_config('tollkeeper.reason', $1, true)"

HAS_SCHEMA = "select to_regclass('tollkeeper.change') is not null"


class DatabaseRole(StrEnum):
    """Who is asking: each part of the product has its own role in the database."""

    GATEWAY = "tollkeeper_gateway"
    CONSOLE = "tollkeeper_console"
    WORKER = "tollkeeper_worker"


async def _leave_as_it_is(_: asyncpg.Connection) -> None:
    """Sessions are never changed here, so the pool need not spend a round trip on resetting them."""


class Database:
    def __init__(self, url: str, part: DatabaseRole, *, connections: int, patience_seconds: float) -> None:
        self._url = url
        self._part = part
        self.connections = connections
        self._patience_seconds = patience_seconds
        self._pool: asyncpg.Pool | None = None
        self._long_places = asyncio.Semaphore(max(1, connections - 1))

    @property
    def has_long_place(self) -> bool:
        """Whether a long session would begin at once."""
        return not self._long_places.locked()

    async def open(self) -> None:
        """Make the pool. Connects to nothing yet: a node may start while its database is away."""
        self._pool = await asyncpg.create_pool(
            self._url,
            connect=connect,
            min_size=0,
            max_size=self.connections,
            timeout=self._patience_seconds,
            reset=_leave_as_it_is,
            server_settings={
                "role": self._part.value,
                "search_path": "tollkeeper",
                "timezone": "UTC",
                # Compiling a query that touches many partitions takes ten times as long as running it.
                "jit": "off",
                # What we no longer wait for must not go on waiting, or committing, on the server.
                "statement_timeout": f"{round(self._patience_seconds * 1_000)}",
                "client_connection_check_interval": "1000",
                "application_name": f"tollkeeper/{__version__}",
            },
        )

    async def close(self) -> None:
        """Wait a moment for what is running, then leave; a frozen server must not keep us."""
        if self._pool is None:
            return
        try:
            await asyncio.wait_for(self._pool.close(), self._patience_seconds)
        except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
            self._pool.terminate()

    @asynccontextmanager
    async def session(self, *, patience_seconds: float | None = None) -> AsyncIterator[asyncpg.Connection]:
        """One connection for a bounded time."""
        patience_seconds = patience_seconds or self._patience_seconds
        is_long = patience_seconds > self._patience_seconds
        if self._pool is None:
            raise StoreUnavailable
        try:
            async with Timeout(patience_seconds), self._long_places if is_long else nullcontext():
                connection = await self._pool.acquire()
                try:
                    yield connection
                except (asyncio.CancelledError, asyncpg.ReadOnlySQLTransactionError):
                    # The statement under way would be waited for, and a frozen server never answers. One that takes no
                    # writes any more is not the server that we want. One that is lost already is the pool's again.
                    with suppress(asyncpg.InterfaceError):
                        connection.terminate()
                    raise
                finally:
                    await self._pool.release(connection)
        except Exception as problem:
            if is_away(problem):
                raise StoreUnavailable from problem
            raise

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[asyncpg.Connection]:
        async with self.session() as connection:
            transaction = connection.transaction()
            await transaction.start()
            try:
                if reason := reason_said():
                    await connection.execute(SAY_WHY, reason)
                yield connection
            except BaseException as problem:
                # Rolling back would wait for the statement under way, and a frozen server never answers. The session
                # ends with it.
                if not isinstance(problem, asyncio.CancelledError):
                    await transaction.rollback()
                raise
            await transaction.commit()

    async def has_schema(self) -> bool:
        """Whether `tollkeeper migrate` was ever run on it."""
        return bool((await self.row(HAS_SCHEMA))[0])

    def trouble(self, problem: BaseException) -> DatabaseTrouble | None:
        """What a failure here says about the database, for operators."""
        return trouble_in(problem, place_of_database(self._url))

    async def row(self, sql: str, *values: object) -> Any:
        async with self._for_statement() as connection:
            return await connection.fetchrow(sql, *values)

    async def rows(self, sql: str, *values: object) -> list[Any]:
        async with self._for_statement() as connection:
            found: list[Any] = await connection.fetch(sql, *values)
            return found

    def _for_statement(self) -> AbstractAsyncContextManager[asyncpg.Connection]:
        """A function that writes a row of the audit trail may be called by a statement of its own."""
        return self.transaction() if reason_said() else self.session()


def is_away(problem: Exception) -> bool:
    """Whether this says that the database cannot be had, rather than that we asked it something wrong."""
    if isinstance(problem, asyncpg.PostgresError):
        state = problem.sqlstate or ""
        return state[:2] in AWAY_CLASSES or state in AWAY_STATES
    if isinstance(problem, asyncpg.InterfaceError):
        # What we asked wrong, and how we are set, are ValueErrors as well; all else is a connection's sudden end, seen
        # from one place or another.
        return not isinstance(problem, ValueError)
    return isinstance(problem, OSError | TimeoutError | asyncpg.InternalClientError)
