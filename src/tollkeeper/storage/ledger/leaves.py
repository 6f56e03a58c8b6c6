"""Whether anybody wrote to sealed days: told by the tables' own bookkeeping, without reading every column.

Every version of a row carries the number of the transaction that wrote it (`xmin`), and no statement of SQL can give it
an older one. So if a table has as many rows as at the last check, in the same file, and none was written by a
transaction that was not over then, they are the same rows. Anything else is no finding yet:
then the rows themselves are read.
"""

from collections.abc import Iterable, Sequence
from datetime import date
from uuid import UUID

import asyncpg
import msgspec

from tollkeeper.storage.ledger.day_contents import BookTable
from tollkeeper.storage.ledger.seals import BooksMark, Leaf, Seal, end_of

# Transaction numbers are compared modulo 2^32: beyond half of it, older and newer cannot be told apart.
COMPARABLE = 2**31
# The first three are no transactions.
FIRST_NUMBER = 3
# What age() says of a row without a transaction number. Only a tool that mends broken tables makes such.
NO_NUMBER = COMPARABLE - 1

# Grouping is by hash and parallel plans are not possible with age(): one pass in the order of the file.
LEAVES = """
select place, leaf, pg_relation_filenode(leaf::oid)::bigint as file, rows, total, youngest, oldest
from (select {place} as place, tableoid::bigint as leaf, count(*) as rows, coalesce(sum({money}), 0)::text as total,
             min(age(xmin)) as youngest, max(age(xmin)) as oldest
      from {name} where {id} >= $1 and {id} < $2 group by 1, 2) counted
"""
AGE = "select age(($1::text)::xid)"
STANDPOINT = """
select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as oldest_open,
       pg_snapshot_xmax(pg_current_snapshot())::text::bigint as next,
       (select system_identifier from pg_control_system()) || '/' ||
       (select oid from pg_database where datname = current_database()) as place
"""


class Standpoint(msgspec.Struct, frozen=True):
    """Where a snapshot stands: which transactions were over when it was taken, and in which cluster and database."""

    oldest_open: int
    next: int
    place: str

    def can_compare(self, mark: BooksMark | None) -> bool:
        return (
            mark is not None
            and mark.place == self.place
            and 0 <= self.next - mark.transaction < COMPARABLE
            and mark.transaction % 2**32 >= FIRST_NUMBER
        )


async def standpoint(connection: asyncpg.Connection) -> Standpoint:
    row = await connection.fetchrow(STANDPOINT)
    return Standpoint(row["oldest_open"], row["next"], row["place"])


async def leaves(connection: asyncpg.Connection, table: BookTable, since: UUID, until: UUID) -> list[Leaf]:
    rows = await connection.fetch(_sql(table, "0"), since, until)
    return [_leaf(table, row) for row in rows]


class Look(msgspec.Struct, frozen=True):
    """At the sealed days' rows of one table."""

    leaves: list[Leaf]
    # Days whose rows may not be those of the mark. None, where nobody wrote to any.
    suspects: set[date]


async def look(connection: asyncpg.Connection, table: BookTable, seals: Sequence[Seal], mark: BooksMark) -> Look:
    age = await connection.fetchval(AGE, str(mark.transaction % 2**32))
    known = {leaf for leaf in mark.leaves if leaf.table == table.name}
    end = end_of(seals[-1].day)
    found = await connection.fetch(_sql(table, "0"), UUID(int=0), end)
    now = [_leaf(table, row) for row in found]
    if set(now) == known and not any(_is_young(row, age) for row in found):
        return Look(now, set())
    ends = [end_of(seal.day) for seal in seals]
    files = {(leaf.oid, leaf.file) for leaf in known}
    by_day = await connection.fetch(_sql(table, f"width_bucket({table.id}, $3::uuid[])"), UUID(int=0), end, ends)
    days = {
        seal.day
        for place, seal in enumerate(seals)
        if not _is_known([row for row in by_day if row["place"] == place], table, seal, files, age)
    }
    return Look(now, days)


def added_up(leaves: Iterable[Leaf]) -> list[Leaf]:
    """One for each partition."""
    by_place: dict[tuple[str, int, int], Leaf] = {}
    for leaf in leaves:
        place = (leaf.table, leaf.oid, leaf.file)
        before = by_place.get(place, Leaf(*place, 0, "0"))
        by_place[place] = Leaf(*place, before.rows + leaf.rows, str(int(before.total) + int(leaf.total)))
    return list(by_place.values())


def _is_known(rows: list[asyncpg.Record], table: BookTable, seal: Seal, files: set[tuple[int, int]], age: int) -> bool:
    sealed = seal.read().tables[table.name]
    return (
        sum(row["rows"] for row in rows) == sealed.rows
        and str(sum(int(row["total"]) for row in rows)) == sealed.total
        and all((row["leaf"], row["file"]) in files and not _is_young(row, age) for row in rows)
    )


def _is_young(row: asyncpg.Record, age: int) -> bool:
    return bool(row["youngest"] <= age or row["oldest"] == NO_NUMBER)


def _leaf(table: BookTable, row: asyncpg.Record) -> Leaf:
    return Leaf(table.name, row["leaf"], row["file"], row["rows"], row["total"])


def _sql(table: BookTable, place: str) -> str:
    return LEAVES.format(place=place, name=table.name, id=table.id, money=table.money)
