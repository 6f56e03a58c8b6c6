"""What journeys over several vendors share: a provider that plays each of them, and a market that sells its models."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.conftest import Stores
from tests.market import KEY, Market, a_market
from tools.simulator import Simulator


@pytest.fixture(scope="module")
def provider() -> Iterator[Simulator]:
    with Simulator(key=KEY, hostile=True) as simulator:
        yield simulator


@pytest.fixture(scope="module")
async def market(stores: Stores, provider: Simulator) -> AsyncIterator[Market]:
    async with a_market(stores, provider) as made:
        yield made
