"""Cleaning the usage log, in PostgreSQL.

Rules of this file
1. One cleaner at a time, by a lock of the session that everything here goes through: who loses the session has lost
   the lock, and can do nothing more.
2. A day is written out and dropped in transactions of their own.
"""

import asyncio
import gzip
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import date, datetime
from pathlib import Path

import asyncpg

from tollkeeper.core.usage import day_ids
from tollkeeper.ports.usage import DayChanged, LogCleaner, LogInUse
from tollkeeper.storage.database import Database

PATIENCE_SECONDS = 24 * 3_600.0
# Most of the work of a cleanup is compressing; more effort would win little.
COMPRESSION = 1
WRITE_BYTES = 1024 * 1024
LOCK = "hashtext('tollkeeper.clean_usage_log')"
# Up to the first that is not closed.
DAYS = """
select d.day from usage_days() d (day)
where d.day < (select coalesce(min(o.day), 'infinity') from usage_days() o (day) where not usage_day_is_closed(o.day))
order by 1
"""
# Nothing in it is a customer's own text, so nothing in it can be a formula.
ROWS = """
select u.request_id, u.account_id, u.key_id, p.model_id, u.price_id, u.group_millionths, u.input_tokens,
       u.cached_tokens, u.output_tokens, u.held, u.charged, u.usage_source, u.ending, u.attempts, u.started_at,
       u.settled_at
from usage u join price p on p.id = u.price_id
where u.request_id >= $1 and u.request_id < $2
"""


class SqlLogCleaner:
    """The `LogCleaner` port, for as long as its session has the lock."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection

    async def days(self) -> Sequence[date]:
        return [row["day"] for row in await self._connection.fetch(DAYS)]

    async def dropped(self) -> Mapping[date, str]:
        return {row["day"]: row["copy"] for row in await self._connection.fetch("select day, copy from usage_dropped")}

    async def write_day(self, day: date, file: Path) -> int:
        packer = Packer(file)
        try:
            async with self._connection.transaction():
                await self._connection.execute("set local statement_timeout = 0")
                told: str = await self._connection.copy_from_query(
                    ROWS, *day_ids(day), output=packer.take, format="csv", header=True
                )
        finally:
            await packer.close()
        return int(told.removeprefix("COPY "))

    async def drop_day(self, day: date, *, rows: int, copy: str) -> None:
        try:
            async with self._connection.transaction():
                await self._connection.execute("set local statement_timeout = 0")
                await self._connection.execute("select drop_usage_day($1, $2, $3)", day, rows, copy)
        except asyncpg.LockNotAvailableError:
            raise LogInUse(f"The usage log of {day} could not be dropped: somebody reads the log for long.") from None
        except asyncpg.ObjectNotInPrerequisiteStateError as problem:
            raise DayChanged(f"The usage log of {day} was not dropped: {problem}.") from None


class Packer:
    """Compresses what comes into a file, in large pieces: one in another thread while the next is gathered."""

    def __init__(self, file: Path) -> None:
        self._out = gzip.GzipFile(file, "wb", compresslevel=COMPRESSION)
        self._gathered = bytearray()
        self._writing: asyncio.Future[int] | None = None

    async def take(self, data: bytes) -> None:
        self._gathered += data
        if len(self._gathered) >= WRITE_BYTES:
            await self._write()

    async def close(self) -> None:
        try:
            await self._write()
            await self._written()
        finally:
            await asyncio.to_thread(self._out.close)

    async def _write(self) -> None:
        await self._written()
        piece, self._gathered = self._gathered, bytearray()
        self._writing = asyncio.ensure_future(asyncio.to_thread(self._out.write, piece))

    async def _written(self) -> None:
        if self._writing is not None:
            await self._writing


class SqlCleanUsage:
    """The `CleanUsage` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def now(self) -> datetime:
        moment: datetime = (await self._database.row("select ledger_now()"))[0]
        return moment

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[LogCleaner | None]:
        async with self._database.session(patience_seconds=PATIENCE_SECONDS) as connection:
            if not await connection.fetchval(f"select pg_try_advisory_lock({LOCK})"):
                yield None
                return
            try:
                yield SqlLogCleaner(connection)
            finally:
                if not connection.is_closed():
                    await connection.execute(f"select pg_advisory_unlock({LOCK})")
