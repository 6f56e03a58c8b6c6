"""Where seals are kept, what they are compared with, and which days are due for one.

Rules of this file
1. A check adds seals and leaves those that are there alone. MACs move to another key by `renew` alone, when an operator
   says so: a process that was left behind must not move them back.
2. No MAC is made anew of a chain that is not whole under the keys that it names.
"""

import hmac
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from uuid import UUID

import asyncpg
import msgspec

from tollkeeper.storage.ledger.books import PATIENCE_SECONDS, take_time
from tollkeeper.storage.ledger.day_contents import FORMS
from tollkeeper.storage.ledger.seals import (
    BooksMark,
    DayContents,
    Seal,
    SealKeys,
    broken_seals,
    chained,
    day_of,
    end_of,
    first_id,
    head_of,
    mark_mac,
)
from tollkeeper.storage.postgres.database import Database

SEALS = "select day, contents, key_version, mac from books_seal order by day"
MARK = "select mark, key_version, mac from books_mark"
# The role cannot be made up, as a name could.
HEAD_ON_RECORD = """
select detail ->> 'head' from audit where action in ('books.seal', 'books.reopen') and as_role = 'tollkeeper_worker'
order by id desc limit 1
"""
NOW = "select ledger_now() at time zone 'UTC'"
OLDEST_OPEN = "select request_id from hold where closed_at is null order by request_id limit 1"
NEXT = """
select id from (
    (select request_id as id from usage where request_id >= $1 order by 1 limit 1) union all
    (select request_id from hold where request_id >= $1 order by 1 limit 1) union all
    (select cause from entry where cause >= $1 order by 1 limit 1)) first order by id limit 1
"""
MISSING_PRICES = "select id from unnest($1::bigint[]) named (id) except select id from price order by 1 limit 20"

IS_CLEANED = "select exists (select from usage_dropped where day = $1)"
OLDER_HOLD = "select exists (select from hold where request_id < $1)"

LOCK = "select pg_advisory_xact_lock(hashtext('tollkeeper.books_seal'))"
LAST_MAC = "select mac from books_seal order by day desc limit 1"
ADD = "insert into books_seal (day, contents, key_version, mac) values ($1, $2, $3, $4)"
UNDER_NEW_KEY = "update books_seal set key_version = $2, mac = $3 where day = $1"
VERSIONS = """
select key_version, count(*) as macs from (
    select key_version from books_seal union all select key_version from books_mark) made group by 1
"""
SET_MARK = """
insert into books_mark (mark, key_version, mac) values ($1, $2, $3)
on conflict ((true)) do update set mark = excluded.mark, key_version = excluded.key_version, mac = excluded.mac
"""
NOTE = "select note_books_sealed($1, $2, $3)"
REOPEN = "select reopen_books($1, $2, $3)"

# Clocks may be wrong by hours: a day is sealed when nothing can come to it any more.
SEALED_AFTER = timedelta(hours=24)


class RenewedSeals(msgspec.Struct, frozen=True):
    """How many MACs were made anew, and why none was where the chain is broken."""

    macs: int
    broken: list[str]


class KeptSeals(msgspec.Struct, frozen=True, kw_only=True):
    # What can be believed: all, or none.
    seals: list[Seal]
    mark: BooksMark | None
    broken: list[str]
    today: date

    @property
    def end(self) -> UUID:
        """The first request id that is in no sealed day."""
        return end_of(self.seals[-1].day) if self.seals else UUID(int=0)


async def read(connection: asyncpg.Connection, keys: SealKeys) -> KeptSeals:
    seals = [Seal(*row) for row in await connection.fetch(SEALS)]
    broken = broken_seals(seals, keys)
    head = head_of(seals)
    on_record = await connection.fetchval(HEAD_ON_RECORD)
    if not broken and (on_record or "") != head.hex():
        broken.append("the last seal is not the one that the audit trail names: seals were taken away or put there")
    if not broken and (newer := [seal.day for seal in seals if seal.read().form not in FORMS]):
        broken.append(f"{newer[0]}: sealed by a newer version of this program")
    row = await connection.fetchrow(MARK)
    if row is not None and not broken:
        key = keys.by_version.get(row["key_version"])
        if key is None:
            made = f"made under envelope key {row['key_version']}, which TOLLKEEPER_ENVELOPE_KEYS lacks"
            broken.append(f"the mark of the last check was {made}")
        elif not hmac.compare_digest(row["mac"], mark_mac(key, head, row["mark"])):
            broken.append("the mark of the last check was changed")
    now: datetime = await connection.fetchval(NOW)
    return KeptSeals(
        seals=[] if broken else seals,
        mark=None if broken or row is None else msgspec.json.decode(row["mark"], type=BooksMark),
        broken=broken,
        today=now.date(),
    )


async def days_to_seal(connection: asyncpg.Connection, start: UUID) -> list[date]:
    """The days with rows from `start` on that are over for long enough, up to the first that has an open hold."""
    now: datetime = await connection.fetchval(NOW)
    until = (now - SEALED_AFTER).date()
    oldest_open = await connection.fetchval(OLDEST_OPEN)
    if oldest_open is not None:
        until = min(until, day_of(oldest_open))
    days: list[date] = []
    while (following := await connection.fetchval(NEXT, start)) is not None and day_of(following) < until:
        days.append(day_of(following))
        start = end_of(days[-1])
    return days


async def gone_for_a_reason(
    connection: asyncpg.Connection, table: str, day: date, today: date, keep_holds: timedelta
) -> bool:
    """Whether the day left this table as days do: the usage log by a cleanup, holds by whole weeks from the old end."""
    if table == "usage":
        return bool(await connection.fetchval(IS_CLEANED, day))
    week_end = day + timedelta(days=7 - day.weekday())
    return (
        table == "hold"
        and today >= week_end + keep_holds
        and not await connection.fetchval(OLDER_HOLD, first_id(week_end))
    )


async def missing_prices(connection: asyncpg.Connection, seals: Sequence[Seal]) -> list[str]:
    named = sorted({price for seal in seals for price in seal.read().prices})
    return [f"price {row['id']}" for row in await connection.fetch(MISSING_PRICES, named)]


async def keep(
    database: Database,
    keys: SealKeys,
    kept: KeptSeals,
    fresh: Sequence[tuple[date, DayContents]],
    mark: BooksMark,
    *,
    actor: str,
) -> list[Seal]:
    """Add seals of days that were found clean, and set the mark. Nothing, if another check was faster. All seals."""
    async with database.transaction() as connection:
        await connection.execute(LOCK)
        if (await connection.fetchval(LAST_MAC) or b"") != head_of(kept.seals):
            return kept.seals
        texts = [(day, msgspec.json.encode(day_is).decode()) for day, day_is in fresh]
        added = chained(texts, keys, head_of(kept.seals))
        await connection.executemany(ADD, [(seal.day, seal.contents, seal.key_version, seal.mac) for seal in added])
        seals = kept.seals + added
        if seals:
            await _set_mark(connection, keys, seals, msgspec.json.encode(mark).decode())
        if added:
            await connection.execute(NOTE, seals[-1].day, head_of(seals).hex(), actor)
    return seals


async def versions(database: Database) -> Mapping[int, int]:
    """How many MACs, of seals and of the mark, were made under each version of the key."""
    return {row["key_version"]: row["macs"] for row in await database.rows(VERSIONS)}


async def renew(database: Database, keys: SealKeys, *, actor: str) -> RenewedSeals:
    """Make the MACs under the key in use, so that others can be retired."""
    async with database.session(patience_seconds=PATIENCE_SECONDS) as connection, connection.transaction():
        await take_time(connection)
        await connection.execute(LOCK)
        kept = await read(connection, keys)
        if kept.broken:
            return RenewedSeals(0, kept.broken)
        mark = await connection.fetchrow(MARK)
        marks = 0 if mark is None or mark["key_version"] == keys.in_use else 1
        older = [seal for seal in kept.seals if seal.key_version != keys.in_use]
        if not older and not marks:
            return RenewedSeals(0, [])
        # Each covers the one before it, so all of them change.
        seals = chained([(seal.day, seal.contents) for seal in kept.seals], keys, b"")
        if older:
            await connection.executemany(UNDER_NEW_KEY, [(seal.day, seal.key_version, seal.mac) for seal in seals])
            await connection.execute(NOTE, seals[-1].day, head_of(seals).hex(), actor)
        if mark is not None:
            await _set_mark(connection, keys, seals, mark["mark"])
    return RenewedSeals(len(older) + marks, [])


async def reopen(database: Database, since: date, reason: str, *, actor: str) -> int:
    """Take the seals from this day on away, on record: the next check compares every row of those days. How many."""
    row = await database.row(REOPEN, since, reason, actor)
    return int(row[0])


async def _set_mark(connection: asyncpg.Connection, keys: SealKeys, seals: Sequence[Seal], mark: str) -> None:
    mac = mark_mac(keys.by_version[keys.in_use], head_of(seals), mark)
    await connection.execute(SET_MARK, mark, keys.in_use, mac)
