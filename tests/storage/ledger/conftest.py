"""The bench of the contract suites: each of their tests runs on both ledgers."""

from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from tests.customers import Customers
from tests.storage.ledger.benches import Bench, BothTreasuries, MemoryBench, SqlBench
from tollkeeper.settings import Settings
from tollkeeper.storage.customers.accounts import SqlBalances
from tollkeeper.storage.ledger.books import check_books
from tollkeeper.storage.ledger.journal import Journal
from tollkeeper.storage.ledger.orphans import SqlOrphans
from tollkeeper.storage.ledger.sql_ledger import SqlLedger
from tollkeeper.storage.ledger.workers import register
from tollkeeper.storage.postgres.database import Database, DatabaseRole

# Its assertions say what they compared, as those of tests do.
pytest.register_assert_rewrite("tests.storage.ledger.crash_machine")


@pytest.fixture(params=["memory", "sql"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def bench(
    kind: str, settings: Settings, owner: asyncpg.Connection, customers: Customers, tmp_path: Path
) -> AsyncIterator[Bench]:
    if kind == "memory":
        yield MemoryBench()
        return
    await customers.a_model()
    database = Database(settings.database_url, DatabaseRole.WORKER, connections=4, patience_seconds=10)
    await database.open()
    console = Database(settings.database_url, DatabaseRole.CONSOLE, connections=2, patience_seconds=10)
    await console.open()
    worker_id = await register(database, "test")
    ledger = SqlLedger(database, worker_id, Journal(tmp_path / "journal", worker_id), patience_seconds=10)
    yield SqlBench(ledger, BothTreasuries(database, console), SqlBalances(database), owner)
    await console.close()
    # Tests that let time pass leave holds behind that are long due.
    for settlement in await SqlOrphans(database).find():
        await ledger.settle(settlement)
    await ledger.close()
    verdicts = await check_books(database)
    await database.close()
    assert [verdict for verdict in verdicts if verdict.findings] == []
    assert list((tmp_path / "journal").iterdir()) == []
