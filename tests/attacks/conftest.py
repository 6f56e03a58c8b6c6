"""Who attacks, and a node that bans."""

from collections.abc import AsyncIterator, Iterator

import asyncpg
import pytest

from tests.attacker import Attacker, an_attacker
from tests.conftest import Stores, variables
from tests.customers import Customers
from tests.office.serving import Served, made_key
from tollkeeper.app.office import office
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.settings import load
from tools.accounts import without_limits
from tools.console import Console
from tools.node import Node
from tools.services import Redis
from tools.simulator import Simulator

INVALID_CALLS = 20


@pytest.fixture(scope="module")
async def attacker(node: Node, townsfolk: Customers, simulator: Simulator) -> Attacker:
    return await an_attacker(node, townsfolk, simulator)


@pytest.fixture(scope="session")
def bans() -> Iterator[Redis]:
    """A place for bans that no other test has."""
    with Redis() as running:
        yield running


@pytest.fixture(scope="session")
async def guarded(stores: Stores, bans: Redis) -> AsyncIterator[tuple[dict[str, str], Customers]]:
    """A deployment that bans after few invalid calls."""
    settings = await variables(stores) | {
        "TOLLKEEPER_INVALID_CALLS": str(INVALID_CALLS),
        "TOLLKEEPER_REDIS_URL": bans.url,
    }
    await without_limits(settings["TOLLKEEPER_DATABASE_URL"])
    async with office(load(settings)) as desk:
        yield settings, Customers(desk)


@pytest.fixture(scope="session")
def proxied_node(guarded: tuple[dict[str, str], Customers]) -> Iterator[Node]:
    """It believes what this machine says of others."""
    with Node(guarded[0] | {"TOLLKEEPER_TRUSTED_PROXIES": "127.0.0.1"}) as running:
        yield running


@pytest.fixture(scope="module")
async def served(stores: Stores) -> AsyncIterator[Served]:
    """A console behind a proxy on this machine, and a key of every scope."""
    settings = await variables(stores) | {"TOLLKEEPER_TRUSTED_PROXIES": "127.0.0.1"}
    keys = {scope: made_key(settings, f"key-of-{scope.value}", "--scope", scope.value) for scope in Scope}
    with Console(settings) as console:
        yield Served(console.base, console.port, settings, keys)
    await stores.drop(settings["TOLLKEEPER_DATABASE_URL"])


@pytest.fixture
async def books(served: Served) -> AsyncIterator[asyncpg.Connection]:
    """The database as its owner has it."""
    url = served.settings["TOLLKEEPER_DATABASE_URL"]
    connection = await asyncpg.connect(url, server_settings={"search_path": "tollkeeper"})
    yield connection
    await connection.close()
