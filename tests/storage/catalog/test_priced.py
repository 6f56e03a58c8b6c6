"""`priced`: what the database takes a call to cost is what it is charged, to the unit."""

import asyncio
from collections.abc import Iterator
from decimal import Decimal

import asyncpg
import msgspec
import pytest
from hypothesis import example, given, settings

from tests.conftest import Stores
from tests.storage.catalog.examples import IN_PARTS, PRICE_PARTS, rates, usages
from tests.storage.ledger.benches import RATE
from tollkeeper.core.money.parts import PriceParts, UsageParts
from tollkeeper.core.money.prices import MILLIONTHS, Rate, Usage

PRICED = "select priced($1, $2, $3, $4, $5::text::jsonb, $6, $7, $8, $9::text::jsonb)"
FULL = Rate(msgspec.structs.replace(RATE.price, parts=PRICE_PARTS), 1_234_567)


class Pricing:
    """The database, asked by whoever previews prices."""

    def __init__(self, stores: Stores) -> None:
        self._runner = asyncio.Runner()
        url = self._runner.run(stores.fresh())
        self._connection = self._runner.run(asyncpg.connect(url, server_settings={"search_path": "tollkeeper"}))
        self._runner.run(self._connection.execute("set role tollkeeper_console"))

    def cost(self, rate: Rate, usage: Usage) -> Decimal:
        price = rate.price
        multipliers = (Decimal(figure) / MILLIONTHS for figure in (price.model, price.completion, price.cached))
        counts = (usage.input_units, usage.cached_units, usage.output_units)
        values = (rate.group, *multipliers, _json(price.parts), *counts, _json(usage.parts))
        found: Decimal = self._runner.run(self._connection.fetchval(PRICED, *values))
        return found

    def close(self) -> None:
        self._runner.run(self._connection.close())
        self._runner.close()


def _json(parts: PriceParts | UsageParts | None) -> str | None:
    return None if parts is None else msgspec.json.encode(parts).decode()


@pytest.fixture(scope="module")
def pricing(stores: Stores) -> Iterator[Pricing]:
    opened = Pricing(stores)
    yield opened
    opened.close()


@settings(max_examples=300)
@given(rate=rates(), usage=usages())
@example(rate=FULL, usage=IN_PARTS)
@example(rate=RATE, usage=IN_PARTS)
@example(rate=FULL, usage=Usage(2_000, 1))
@example(rate=FULL, usage=Usage(2_001, 1))
@example(rate=FULL, usage=Usage(200_001, 1, 200_000))
def test_the_database_takes_a_call_to_cost_what_it_is_charged(pricing: Pricing, rate: Rate, usage: Usage) -> None:
    assert pricing.cost(rate, usage) == rate.charge(usage)


def test_halves_are_rounded_up_as_a_charge_is(pricing: Pricing) -> None:
    half = Rate(msgspec.structs.replace(RATE.price, model=500_000), 1)
    assert [pricing.cost(half, Usage(units)) for units in (1, 2, 3)] == [1, 1, 2]
