"""Check the books: every invariant, on one snapshot of the database."""

from collections.abc import Mapping
from uuid import UUID

import asyncpg

from tollkeeper.ports.books import InvariantVerdict
from tollkeeper.storage.ledger.invariants import BALANCES, CALLS, GONE, STANDING
from tollkeeper.storage.postgres.database import Database

MOST_FINDINGS_SHOWN = 20
PATIENCE_SECONDS = 6 * 3600.0
FROM_THE_FIRST_CALL = UUID(int=0)

# Whole tables are compared with each other. Of one that grew since PostgreSQL counted it, above all after a crash, it
# thinks that it is small, and would read the other once for each row: 80 s for 20,000 keys.
WHOLE_TABLES = "set local enable_nestloop = off"
AS_BEFORE = "set local enable_nestloop to default"

AUDIT_HEAD = "select id, encode(hash, 'hex') as hash from audit order by id desc limit 1"
AUDIT_ROW = "select encode(hash, 'hex') from audit where id = $1"


async def check_books(database: Database) -> list[InvariantVerdict]:
    """Check every invariant on every row. Trusts no seal, and makes none."""
    async with (
        database.session(patience_seconds=PATIENCE_SECONDS) as connection,
        connection.transaction(isolation="repeatable_read", readonly=True),
    ):
        await take_time(connection)
        return await broken_invariants(connection, FROM_THE_FIRST_CALL)


async def take_time(connection: asyncpg.Connection) -> None:
    """For the rest of this transaction: such statements are long, and join millions of rows."""
    await connection.execute("set local statement_timeout = 0; set local work_mem = '64MB'; set local jit = off")


async def broken_invariants(connection: asyncpg.Connection, since: UUID) -> list[InvariantVerdict]:
    """Every invariant, with what breaks it. Rows of calls before `since` are not compared with each other."""
    await connection.execute(WHOLE_TABLES)
    verdicts = await _balances(connection)
    for invariant, sql in ({name: sql.format(since=since) for name, sql in CALLS.items()} | dict(STANDING)).items():
        rows = await connection.fetch(f"{sql} limit {MOST_FINDINGS_SHOWN}")
        verdicts.append(InvariantVerdict(invariant, [row["finding"] for row in rows]))
    await connection.execute(AS_BEFORE)
    return verdicts


async def _balances(connection: asyncpg.Connection) -> list[InvariantVerdict]:
    """In one statement, so that the entries are added up once."""
    asked = " union all ".join(
        f"(select {place} as place, finding from ({sql}) broken limit {MOST_FINDINGS_SHOWN})"  # noqa: S608 (all of it is ours)
        for place, sql in enumerate(BALANCES.values())
    )
    found: Mapping[int, list[str]] = {place: [] for place in range(len(BALANCES))}
    for row in await connection.fetch(f"with gone as materialized ({GONE}) {asked}"):
        found[row["place"]].append(row["finding"])
    return [InvariantVerdict(invariant, found[place]) for place, invariant in enumerate(BALANCES)]


async def audit_head(database: Database) -> str:
    """The end of the audit trail, as ID:HASH. Kept elsewhere, it shows later whether the trail was cut or rewritten."""
    row = await database.row(AUDIT_HEAD)
    return "0:" if row is None else f"{row['id']}:{row['hash']}"


async def audit_contains(database: Database, head: str) -> bool:
    """Whether the trail still has what was its end when `head` was noted."""
    row_id, _, digest = head.partition(":")
    if row_id == "0":
        return True
    row = await database.row(AUDIT_ROW, int(row_id))
    return row is not None and row[0] == digest
