"""Real stores and real nodes for the tests."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import asyncpg
import hypothesis
import pytest

from tests.conformance import Conformance
from tests.customers import Customers
from tests.quick import Quick
from tollkeeper.app.database import opened
from tollkeeper.app.office import office
from tollkeeper.settings import Settings, load
from tollkeeper.storage.postgres.database import Database, DatabaseRole
from tollkeeper.storage.postgres.schema import migrate
from tollkeeper.storage.usage.receipts import SqlReceipts
from tools.accounts import add_accounts, without_limits
from tools.node import Node, own_deployment
from tools.services import Postgres, Redis
from tools.simulator import Simulator

ADDRESSES = {
    "TOLLKEEPER_MAIN_HOSTS": "main.test",
    "TOLLKEEPER_BACKUP_HOSTS": "backup.test",
    "TOLLKEEPER_BILLING_HOSTS": "billing.test:8443",
    "TOLLKEEPER_AGENT_HOSTS": "agent-one.test, agent-two.test",
}

# The limits of time, a hundredth of what they are.
HASTE = {
    "TOLLKEEPER_CUT_SECONDS": "1",
    "TOLLKEEPER_LONGEST_SECONDS": "4",
    "TOLLKEEPER_KEEP_ALIVE_SECONDS": "0.2",
    "TOLLKEEPER_FIRST_BYTE_SECONDS": "2",
    "TOLLKEEPER_PROVIDER_IDLE_SECONDS": "3",
}
PROVIDER_KEY = "sk-of-the-provider-4711"
# So many that calls which fail on purpose do not take them all out.
ACCOUNTS = 60
# Hundreds of databases that each live for a test: to look after them all would be most of what the server does.
SHORT_LIVED = {"autovacuum": "off", "max_wal_size": "256MB"}
# Where files are memory, with room for two servers, a new database is a copy of files, in half the time; where they are
# not, to write it as the log has it is quicker.
IN_MEMORY = Path("/dev/shm")  # noqa: S108 (a folder of its own is made in it)
IN_MEMORY_BYTES_LEAST = 4 * 1024**3
# Of the thousands of connections that tests open, the iterated digests of the usual way would take minutes.
QUICK_AUTH = "md5"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--conformance", action="store_true", help="print which rules of the specification are covered")
    parser.addoption("--quick", action="store_true", help="only what needs no store and no process (tests/quick.py)")


def pytest_configure(config: pytest.Config) -> None:
    # How long one example takes says more about who else uses the machine than about us.
    hypothesis.settings.register_profile("any machine", hypothesis.settings(), deadline=None)
    hypothesis.settings.load_profile("any machine")
    if config.getoption("--conformance"):
        config.pluginmanager.register(Conformance())
    if config.getoption("--quick"):
        config.pluginmanager.register(Quick())


class Stores:
    """Where the tests' PostgreSQL and Redis are, and fresh databases in them."""

    def __init__(self, database_url: str, redis_url: str, folder: Path) -> None:
        self.database_url = database_url
        self.redis_url = redis_url
        self.folder = folder
        self._template = f"template_{uuid4().hex}"
        self._made = [self._template]
        self._copied = "strategy file_copy" if "DATABASE_URL" not in os.environ and in_memory() else ""
        asyncio.run(self.admin(f'create database "{self._template}"'))
        migrate(self.url_of(self._template))

    async def fresh(self) -> str:
        """The address of a new database with the newest schema."""
        name = f"test_{uuid4().hex}"
        self._made.append(name)
        await self.admin(f'create database "{name}" template "{self._template}" {self._copied}')
        return self.url_of(name)

    async def drop(self, url: str) -> None:
        """What was not written to the disk yet never is; so tests do not wait for those that are over."""
        name = url.rpartition("/")[2]
        await self.admin(f'drop database if exists "{name}" with (force)')
        self._made.remove(name)

    async def drop_all(self) -> None:
        """Leave a server that is not ours as it was."""
        for name in self._made:
            await self.admin(f'drop database if exists "{name}" with (force)')

    async def admin(self, sql: str) -> None:
        connection = await asyncpg.connect(self.database_url)
        try:
            await connection.execute(sql)
        finally:
            await connection.close()

    def url_of(self, database: str) -> str:
        return self.database_url.rpartition("/")[0] + f"/{database}"


def in_memory() -> Path | None:
    """Where files are memory, if there is enough of it."""
    if not IN_MEMORY.is_dir():
        return None
    room, memory = os.statvfs(IN_MEMORY), Path("/proc/meminfo").read_text()
    free_bytes = [room.f_bavail * room.f_frsize]
    free_bytes += [int(line.split()[1]) * 1024 for line in memory.splitlines() if line.startswith("MemAvailable:")]
    return IN_MEMORY if min(free_bytes) >= IN_MEMORY_BYTES_LEAST else None


def a_server() -> Postgres:
    return Postgres(settings=SHORT_LIVED, within=in_memory(), auth=QUICK_AUTH)


@pytest.fixture(scope="session")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    with ExitStack() as stack:
        database_url = os.environ.get("DATABASE_URL") or stack.enter_context(a_server()).url
        redis_url = os.environ.get("REDIS_URL") or stack.enter_context(Redis()).url
        made = Stores(database_url, redis_url, tmp_path_factory.mktemp("journals"))
        yield made
        if "DATABASE_URL" in os.environ:
            asyncio.run(made.drop_all())


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A process that is started in the background may be told to ignore Ctrl-C, and its children with it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
async def settings(stores: Stores) -> AsyncIterator[Settings]:
    """Settings for a database of the test's own."""
    found = load(await variables(stores))
    yield found
    await stores.drop(found.database_url)


@pytest.fixture
async def database(settings: Settings) -> AsyncIterator[Database]:
    """The test's own database, as the gateway sees it."""
    opened = Database(settings.database_url, DatabaseRole.GATEWAY, connections=4, patience_seconds=4)
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
async def owner(settings: Settings) -> AsyncIterator[asyncpg.Connection]:
    """The test's own database, as its owner sees it: for setting scenes that no part of the product may set."""
    connection = await asyncpg.connect(settings.database_url, server_settings={"search_path": "tollkeeper"})
    yield connection
    await connection.close()


@pytest.fixture
async def customers(settings: Settings) -> AsyncIterator[Customers]:
    """Accounts and keys in the test's own database."""
    async with office(settings) as desk:
        yield Customers(desk)


@pytest.fixture(scope="session")
async def town(stores: Stores) -> AsyncIterator[tuple[dict[str, str], Customers]]:
    """One database that all journeys share, without limits; each makes its own customers in it."""
    shared = await variables(stores)
    await without_limits(shared["TOLLKEEPER_DATABASE_URL"])
    async with office(load(shared)) as desk:
        yield shared, Customers(desk)


@pytest.fixture(scope="session")
def node(town: tuple[dict[str, str], Customers]) -> Iterator[Node]:
    """A node with no host names configured."""
    with Node(town[0]) as running:
        yield running


@pytest.fixture(scope="session")
def addressed_node(town: tuple[dict[str, str], Customers]) -> Iterator[Node]:
    """A node with a host name for each address."""
    with Node(town[0] | ADDRESSES) as running:
        yield running


@pytest.fixture(scope="session")
async def simulator(town: tuple[dict[str, str], Customers]) -> AsyncIterator[Simulator]:
    """The provider behind every model of the town."""
    with Simulator(key=PROVIDER_KEY) as running:
        await add_accounts(town[0], running.base, PROVIDER_KEY, ACCOUNTS)
        yield running


@pytest.fixture(scope="session")
def hasty_node(town: tuple[dict[str, str], Customers]) -> Iterator[Node]:
    """A node with a host name for each address, for which time runs fast."""
    with Node(town[0] | ADDRESSES | HASTE) as running:
        yield running


@pytest.fixture(scope="session")
async def receipts(town: tuple[dict[str, str], Customers]) -> AsyncIterator[SqlReceipts]:
    async with opened(load(town[0]), DatabaseRole.CONSOLE) as database:
        yield SqlReceipts(database)


@pytest.fixture(scope="session")
def townsfolk(town: tuple[dict[str, str], Customers]) -> Customers:
    """Makes customers that the nodes know."""
    return town[1]


async def variables(stores: Stores) -> dict[str, str]:
    return {
        "TOLLKEEPER_JOURNAL_FOLDER": str(stores.folder),
        "TOLLKEEPER_DATABASE_URL": await stores.fresh(),
        "TOLLKEEPER_REDIS_URL": stores.redis_url,
    } | own_deployment()
