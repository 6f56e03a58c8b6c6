"""Cleaning the usage log, in PostgreSQL.

Rules of this file
1. One cleaner at a time, by a lock of the session that everything here goes through: who loses the session has lost
   the lock, and can do nothing more.
2. A day is written out and dropped in transactions of their own.
3. A file is made of gzip members, which together are a gzip file like any other: the names of the columns, then parts
   of whole rows.
"""

import asyncio
import gzip
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import date, datetime
from pathlib import Path
from uuid import UUID

import asyncpg

from tollkeeper.core.usage.log import day_ids
from tollkeeper.core.usage.log_copy import COLUMNS, CopiedPart
from tollkeeper.ports.usage import DayChanged, LogCleaner, LogInUse, WrittenDay
from tollkeeper.storage.postgres.database import Database
from tollkeeper.storage.usage.units import with_unit

PATIENCE_SECONDS = 24 * 3_600.0
# Most of the work of a cleanup is compressing; more effort would win little.
COMPRESSION = 1
PART_BYTES = 128 * 1024
LOCK = "hashtext('tollkeeper.clean_usage_log')"
# Up to the first that is not closed.
DAYS = """
select d.day from usage_days() d (day)
where d.day < (select coalesce(min(o.day), 'infinity') from usage_days() o (day) where not usage_day_is_closed(o.day))
order by 1
"""
# In the order of COLUMNS.
ROWS = with_unit("""
select u.request_id, u.account_id, u.key_id, p.model_id, u.price_id, u.group_millionths, u.input_units,
       u.cached_units, u.output_units, u.held, u.charged, u.usage_source, u.ending, u.attempts, u.started_at,
       u.settled_at, u.parts, UNIT as unit
from usage u join price p on p.id = u.price_id join model m on m.id = p.model_id
where u.request_id >= $1 and u.request_id < $2
order by u.account_id, u.request_id
""")


class SqlLogCleaner:
    """The `LogCleaner` port, for as long as its session has the lock."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection

    async def days(self) -> Sequence[date]:
        return [row["day"] for row in await self._connection.fetch(DAYS)]

    async def dropped(self) -> Mapping[date, str]:
        return {row["day"]: row["copy"] for row in await self._connection.fetch("select day, copy from usage_dropped")}

    async def write_day(self, day: date, file: Path) -> WrittenDay:
        packer = Packer(file)
        try:
            async with self._connection.transaction():
                await self._connection.execute("set local statement_timeout = 0")
                told: str = await self._connection.copy_from_query(
                    ROWS, *day_ids(day), output=packer.take, format="csv"
                )
        finally:
            await packer.close()
        return WrittenDay(int(told.removeprefix("COPY ")), packer.parts)

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
    """Compresses rows into a file, part by part: one in another thread while the next is gathered."""

    def __init__(self, file: Path) -> None:
        self.parts: list[CopiedPart] = []
        self._out = file.open("wb")
        self._out.write(_packed((",".join(COLUMNS) + "\n").encode()))
        self._gathered = bytearray()
        self._writing: asyncio.Future[None] | None = None

    async def take(self, data: bytes) -> None:
        self._gathered += data
        while (end := self._gathered.find(b"\n", PART_BYTES - 1) + 1) > 0:
            await self._write_rows(end)

    async def close(self) -> None:
        try:
            if self._gathered:
                await self._write_rows(len(self._gathered))
            await self._written()
        finally:
            await asyncio.to_thread(self._out.close)

    async def _write_rows(self, end: int) -> None:
        await self._written()
        rows = bytes(self._gathered[:end])
        del self._gathered[:end]
        self._writing = asyncio.ensure_future(asyncio.to_thread(self._write, rows))

    def _write(self, rows: bytes) -> None:
        packed, offset_bytes = _packed(rows), self._out.tell()
        self._out.write(packed)
        request_id, account_id, _ = rows.split(b",", 2)
        first = int(account_id), UUID(request_id.decode())
        self.parts.append(CopiedPart(*first, offset_bytes, len(packed)))

    async def _written(self) -> None:
        if self._writing is not None:
            await self._writing


def _packed(content: bytes) -> bytes:
    return gzip.compress(content, COMPRESSION, mtime=0)


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
