"""A dump of one database, restored into a cluster that never saw Tollkeeper."""

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from tests.conftest import Stores, variables
from tests.customers import Customers
from tollkeeper.app.office import office
from tollkeeper.demo.servers.postgres import binary
from tollkeeper.settings import load
from tools.node import tollkeeper
from tools.services import Postgres

pytestmark = pytest.mark.not_quick


@pytest.fixture
def fresh_cluster() -> Iterator[Postgres]:
    with Postgres() as running:
        yield running


async def dumped(stores: Stores, folder: Path) -> tuple[dict[str, str], Path]:
    """A database with a customer, and its dump."""
    settings = await variables(stores)
    async with office(load(settings)) as desk:
        await Customers(desk).a_customer()
    await asyncio.to_thread(dump_into, folder / "dump", settings["TOLLKEEPER_DATABASE_URL"])
    return settings, folder / "dump"


def dump_into(file: Path, url: str) -> None:
    subprocess.run([binary("pg_dump"), "--format=custom", f"--file={file}", url], check=True)


def restore(url: str, dump: Path) -> int:
    """How many errors that gives."""
    command = [binary("pg_restore"), f"--dbname={url}", str(dump)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stderr.count("error:")


async def test_a_dump_is_restored_whole_where_the_roles_were_made_before(
    stores: Stores, fresh_cluster: Postgres, tmp_path: Path
) -> None:
    settings, dump = await dumped(stores, tmp_path)
    there = settings | {"TOLLKEEPER_DATABASE_URL": fresh_cluster.url}
    assert tollkeeper(there, "migrate", "--roles-only").returncode == 0
    assert restore(fresh_cluster.url, dump) == 0
    migrated = tollkeeper(there, "migrate")
    assert (migrated.returncode, migrated.stderr) == (0, "")
    assert tollkeeper(there, "books", "check").returncode == 0
    async with office(load(there)) as desk:
        await Customers(desk).a_customer()


async def test_a_dump_that_was_restored_without_its_roles_is_told_in_a_sentence(
    stores: Stores, fresh_cluster: Postgres, tmp_path: Path
) -> None:
    settings, dump = await dumped(stores, tmp_path)
    assert restore(fresh_cluster.url, dump) > 100
    refused = tollkeeper(settings | {"TOLLKEEPER_DATABASE_URL": fresh_cluster.url}, "migrate")
    assert refused.returncode == 3
    assert "belongs to 'tollkeeper', not to tollkeeper_migrations" in refused.stderr
    assert "Traceback" not in refused.stderr
    connection = await asyncpg.connect(fresh_cluster.url)
    assert await connection.fetchval("select count(*) from tollkeeper.account") == 1
    await connection.close()
