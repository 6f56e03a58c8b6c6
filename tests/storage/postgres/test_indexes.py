"""Indexes that are built while calls go on."""

import asyncio
import re
from pathlib import Path

import asyncpg
import pytest

from tests.conftest import Stores
from tollkeeper.storage.postgres.indexes import IndexAside, build_index
from tollkeeper.storage.postgres.schema import migrate, newest_revision
from tools.migration import VERSIONS
from tools.services.process import wait_until_async

WAITING = """
select exists (select from pg_stat_activity where datname = current_database() and query ilike 'create index%'
               and wait_event_type = 'Lock')
"""
ARE_VALID = """
select bool_and(i.indisvalid) from pg_index i join pg_class c on c.oid = i.indexrelid where c.relname like '%' || $1
"""
MIGRATION = """
from tollkeeper.storage.postgres.indexes import IndexAside

INDEXES_ASIDE = (IndexAside("entry", "entry_by_kind", "(kind)"),)

revision = "9999"
down_revision = "{before}"


def upgrade() -> None:
    pass
"""


BY_NAME = IndexAside("account", "account_by_name", "(name)")


async def connected(url: str) -> asyncpg.Connection:
    return await asyncpg.connect(url, server_settings={"search_path": "tollkeeper"})


async def test_whoever_writes_does_not_wait_for_an_index_that_is_being_built(stores: Stores) -> None:
    url = await stores.fresh()
    builder, busy, writer = await connected(url), await connected(url), await connected(url)
    transaction = busy.transaction()
    await transaction.start()
    await busy.execute("insert into account (name) values ('busy')")
    building = asyncio.create_task(build_index(builder, BY_NAME))
    await wait_until_async(lambda: writer.fetchval(WAITING))
    await writer.execute("set lock_timeout = '10s'")
    await writer.execute("insert into account (name) values ('not kept waiting')")
    assert not building.done()
    await transaction.commit()
    await building
    assert await writer.fetchval(ARE_VALID, "account_by_name")
    for connection in (builder, busy, writer):
        await connection.close()


async def test_an_index_whose_building_was_broken_off_is_built_anew(stores: Stores) -> None:
    connection = await connected(await stores.fresh())
    await connection.execute("insert into account (name) values ('twice'), ('twice')")
    with pytest.raises(asyncpg.UniqueViolationError):
        await connection.execute("create unique index concurrently account_by_name on account (name)")
    assert not await connection.fetchval(ARE_VALID, "account_by_name")
    await build_index(connection, BY_NAME)
    assert await connection.fetchval(ARE_VALID, "account_by_name")
    await connection.close()


async def test_a_migration_builds_the_indexes_of_every_partition_and_of_those_to_come(
    stores: Stores, tmp_path: Path
) -> None:
    url = await stores.fresh()
    (tmp_path / "9999_an_index.py").write_text(MIGRATION.format(before=newest_revision()))
    await asyncio.to_thread(migrate, url, more=tmp_path)
    connection = await connected(url)
    assert await connection.fetchval("select version_num from alembic_version") == "9999"
    assert await connection.fetchval(ARE_VALID, "entry_by_kind")
    partitions = await connection.fetchval("select count(*) from pg_inherits where inhparent = 'entry'::regclass")
    indexes = "select count(*) from pg_inherits where inhparent = 'entry_by_kind'::regclass"
    assert await connection.fetchval(indexes) == partitions > 0
    await connection.close()


def test_no_migration_builds_an_index_over_the_ledger_in_its_transaction() -> None:
    """What grows with every call: whoever writes to it would wait for minutes."""
    # Every deployment has those up to here since it was made.
    made_early = "0014"
    building = re.compile(r"create (?:unique )?index[^;]* on (?:entry|usage|hold)\b", re.IGNORECASE)
    guilty = [file.name for file in VERSIONS.glob("*.sql") if building.search(file.read_text())]
    assert [name for name in sorted(guilty) if name[:4] > made_early] == []


async def test_the_index_of_statements_is_built_beforehand_over_every_partition(stores: Stores) -> None:
    connection = await connected(await stores.fresh())
    assert await connection.fetchval(ARE_VALID, "entry_not_of_calls")
    partitions = await connection.fetchval("select count(*) from pg_inherits where inhparent = 'entry'::regclass")
    indexes = "select count(*) from pg_inherits where inhparent = 'entry_not_of_calls'::regclass"
    assert await connection.fetchval(indexes) == partitions > 0
    await connection.close()
