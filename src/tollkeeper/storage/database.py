"""The connection to PostgreSQL: one pool per process, least privilege, bounded waits.

Rules of this file
1. Every session takes on the role of the part it serves, whatever the login could do.
2. A database that is away, frozen or out of connections becomes `StoreUnavailable` within `patience_seconds`.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import StrEnum
from typing import Any

import asyncpg

from tollkeeper import __version__
from tollkeeper.core.errors import StoreUnavailable

OUT_OF_REACH = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.TooManyConnectionsError,
    asyncpg.QueryCanceledError,
)


class Part(StrEnum):
    """Who is asking: each part of the product has its own role in the database."""

    GATEWAY = "tollkeeper_gateway"
    CONSOLE = "tollkeeper_console"
    WORKER = "tollkeeper_worker"


async def _leave_as_it_is(_: asyncpg.Connection) -> None:
    """Sessions are never changed here, so the pool need not spend a round trip on resetting them."""


class Database:
    def __init__(self, url: str, part: Part, *, connections: int, patience_seconds: float) -> None:
        self._url = url
        self._part = part
        self._connections = connections
        self._patience_seconds = patience_seconds
        self._pool: asyncpg.Pool | None = None

    async def open(self) -> None:
        """Make the pool. Connects to nothing yet: a node may start while its database is away."""
        self._pool = await asyncpg.create_pool(
            self._url,
            min_size=0,
            max_size=self._connections,
            timeout=self._patience_seconds,
            command_timeout=self._patience_seconds,
            reset=_leave_as_it_is,
            server_settings={
                "role": self._part.value,
                "search_path": "tollkeeper",
                "timezone": "UTC",
                "application_name": f"tollkeeper/{__version__}",
            },
        )

    async def close(self) -> None:
        """Wait a moment for what is running, then leave; a frozen server must not keep us."""
        if self._pool is None:
            return
        try:
            await asyncio.wait_for(self._pool.close(), self._patience_seconds)
        except OUT_OF_REACH:
            self._pool.terminate()

    @asynccontextmanager
    async def session(self) -> AsyncIterator[asyncpg.Connection]:
        if self._pool is None:
            raise StoreUnavailable
        try:
            async with self._pool.acquire(timeout=self._patience_seconds) as connection:
                yield connection
        except OUT_OF_REACH as problem:
            raise StoreUnavailable from problem

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[asyncpg.Connection]:
        async with self.session() as connection, connection.transaction():
            yield connection

    async def row(self, sql: str, *values: object) -> Any:
        async with self.session() as connection:
            return await connection.fetchrow(sql, *values)

    async def rows(self, sql: str, *values: object) -> list[Any]:
        async with self.session() as connection:
            found: list[Any] = await connection.fetch(sql, *values)
            return found
