"""Indexes over large tables, built while calls go on (CREATE INDEX CONCURRENTLY).

A migration asks for one by a constant, `INDEXES_ASIDE`, and finds it there when it runs: it is built beforehand, in no
transaction, and begun anew where its building was broken off.
"""

import asyncio

import asyncpg
import msgspec

from tollkeeper.storage.postgres.connecting import connect
from tollkeeper.storage.postgres.rights import OWNER

LOCK = "select pg_try_advisory_lock(hashtext('tollkeeper.indexes'))"
# One who waits within a statement would be waited for by the one who builds.
ASK_EVERY_SECONDS = 1.0

KIND = "select relkind from pg_class where oid = $1::regclass"
PARTITIONS = """
select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = $1::regclass order by 1
"""
# A build that was broken off leaves an index that nobody uses and everybody maintains.
BROKEN = """
select exists (select from pg_index i join pg_class c on c.oid = i.indexrelid
               where c.relname = $1 and c.relnamespace = 'tollkeeper'::regnamespace and not i.indisvalid)
"""
ATTACHED = """
select exists (select from pg_inherits i where i.inhrelid = to_regclass($1) and i.inhparent = $2::regclass)
"""


class IndexAside(msgspec.Struct, frozen=True):
    """`definition`: what follows the table in CREATE INDEX, as `(account_id) where …`."""

    table: str
    name: str
    definition: str


async def build_index(connection: asyncpg.Connection, index: IndexAside) -> None:
    """Build it, and wait for it. Nothing that writes to the table waits meanwhile. Of a partitioned table the index of
    the whole comes first, so that new partitions have it, and takes in those of the partitions one by one."""
    if await connection.fetchval(KIND, index.table) != b"p":
        await _build(connection, index)
        return
    whole = f"create index if not exists {index.name} on only {index.table} {index.definition}"
    await connection.execute(whole)
    for row in await connection.fetch(PARTITIONS, index.table):
        part = IndexAside(row["relname"], f"{row['relname']}_{index.name}", index.definition)
        await _build(connection, part)
        if not await connection.fetchval(ATTACHED, part.name, index.name):
            await connection.execute(f"alter index {index.name} attach partition {part.name}")


async def build_indexes(database_url: str, indexes: tuple[IndexAside, ...]) -> None:
    """One builder at a time, as the role to which everything belongs."""
    if not indexes:
        return
    own = {"role": OWNER, "search_path": "tollkeeper", "statement_timeout": "0"}
    connection = await connect(database_url, server_settings=own)
    try:
        while not await connection.fetchval(LOCK):  # noqa: ASYNC110 (nobody here knows when another ends)
            await asyncio.sleep(ASK_EVERY_SECONDS)
        for index in indexes:
            await build_index(connection, index)
    finally:
        await connection.close()


async def _build(connection: asyncpg.Connection, index: IndexAside) -> None:
    if await connection.fetchval(BROKEN, index.name):
        await connection.execute(f"drop index concurrently {index.name}")
    await connection.execute(
        f"create index concurrently if not exists {index.name} on {index.table} {index.definition}"
    )
