"""Who attacks, and a node that bans."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.attacker import Attacker, an_attacker
from tests.conftest import Stores, variables
from tests.customers import Customers
from tollkeeper.app import office
from tollkeeper.settings import load
from tools.accounts import without_limits
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
