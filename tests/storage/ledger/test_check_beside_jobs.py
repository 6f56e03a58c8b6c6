"""A check of the books may take hours; heartbeat, sweeper and mail of its process go on beside it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import asyncpg
import pytest

from tests.customers import Customers
from tollkeeper.core.errors import StoreUnavailable
from tollkeeper.settings import Settings
from tollkeeper.storage.ledger.book_review import BookReviewer
from tollkeeper.storage.ledger.orphans import SqlOrphans
from tollkeeper.storage.ledger.seals import SealKeys
from tollkeeper.storage.ledger.workers import BEAT, register
from tollkeeper.storage.postgres.database import Database, DatabaseRole
from tollkeeper.storage.usage.cleaning import SqlCleanUsage
from tollkeeper.storage.usage.rollups import SqlRollups
from tools.services.process import wait_until_async

WAITING = "select count(*) from pg_locks where not granted and relation = 'entry'::regclass"
IN_A_CHECK = """
select count(*) from pg_stat_activity
where datname = current_database() and state in ('active', 'idle in transaction') and pid <> pg_backend_pid()
"""


@asynccontextmanager
async def worker_of(settings: Settings, connections: int) -> AsyncIterator[Database]:
    database = Database(settings.database_url, DatabaseRole.WORKER, connections=connections, patience_seconds=2)
    await database.open()
    yield database
    await database.close()


@asynccontextmanager
async def a_check_under_way(database: Database, owner: asyncpg.Connection) -> AsyncIterator[int]:
    """One that cannot go on for as long as the block lasts; how many connections it has."""
    reviewer = BookReviewer(database, SealKeys({1: b"key" * 8}, in_use=1), keep_holds=timedelta(days=1), actor="test")

    async def waits() -> bool:
        return bool(await owner.fetchval(WAITING))

    async with asyncio.TaskGroup() as here:
        async with owner.transaction():
            await owner.execute("lock table entry in access exclusive mode")
            checking = here.create_task(reviewer.review())
            await wait_until_async(waits, within_seconds=30)
            yield await owner.fetchval(IN_A_CHECK)
        assert (await checking).is_clean


@pytest.mark.parametrize(("connections", "lanes"), [(2, 1), (3, 1), (4, 2), (5, 2), (8, 4), (20, 4)])
async def test_a_check_takes_half_of_the_connections_at_most(
    settings: Settings, owner: asyncpg.Connection, customers: Customers, connections: int, lanes: int
) -> None:
    async with worker_of(settings, connections) as database, a_check_under_way(database, owner) as taken:
        assert taken == lanes


@pytest.mark.parametrize("connections", [2, 3, 4])
async def test_a_worker_with_few_connections_beats_and_sweeps_during_a_check(
    settings: Settings, owner: asyncpg.Connection, customers: Customers, connections: int
) -> None:
    async with worker_of(settings, connections) as database:
        worker_id = await register(database, "here")
        orphans = SqlOrphans(database)
        async with a_check_under_way(database, owner), asyncio.TaskGroup() as others:
            # The other long jobs are due just now, too; with two connections they wait.
            cleaning, counting = others.create_task(clean(database)), others.create_task(SqlRollups(database).add_up())
            await asyncio.sleep(0)
            assert (await database.row(BEAT, worker_id))["over"] is False
            assert worker_id not in await orphans.fence_silent_workers(60)
            await orphans.find()
            cleaning.cancel()
            counting.cancel()


async def clean(database: Database) -> None:
    async with SqlCleanUsage(database).alone():
        await asyncio.Event().wait()


async def test_long_sessions_leave_a_connection_for_short_ones(settings: Settings) -> None:
    async with worker_of(settings, 3) as database:
        async with database.session(patience_seconds=60), database.session(patience_seconds=60):
            assert not database.has_long_place
            with pytest.raises(StoreUnavailable):
                async with database.session(patience_seconds=2.5):
                    raise AssertionError("there is no place for it")
            assert (await database.row("select 1"))[0] == 1
        assert database.has_long_place


async def test_a_pool_of_one_connection_gives_it_to_whoever_comes_first(settings: Settings) -> None:
    async with worker_of(settings, 1) as database:
        async with database.session(patience_seconds=60) as connection:
            assert await connection.fetchval("select 1") == 1
        assert (await database.row("select 1"))[0] == 1
