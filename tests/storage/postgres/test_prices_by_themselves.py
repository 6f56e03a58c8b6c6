"""The migration that gives input a weight of its own: prices from before cost what they did, to the unit."""

import asyncio
from collections.abc import AsyncIterator
from decimal import Decimal
from uuid import uuid4

import asyncpg
import msgspec
import pytest

from tests.conftest import Stores
from tests.storage.catalog.examples import IN_PARTS, PRICE_PARTS
from tests.storage.postgres.test_price_parts import some_usages
from tollkeeper.core.money.parts import PriceParts
from tollkeeper.core.money.prices import Usage
from tollkeeper.storage.postgres.schema import migrate

BEFORE = "0043"
PRICED = """
select array_agg(priced(1234567, model_multiplier, completion_multiplier, cached_multiplier, parts, $1, $2, $3,
                        $4::text::jsonb) order by id)
from price
"""
ROWS = (None, PRICE_PARTS, PriceParts(written_5m=1_250_000), PriceParts(per_call=7, tools={"code": 3}))


@pytest.fixture
async def old(stores: Stores) -> AsyncIterator[tuple[str, asyncpg.Connection]]:
    name = f"test_{uuid4().hex}"
    await stores.admin(f'create database "{name}"')
    url = stores.url_of(name)
    await asyncio.to_thread(migrate, url, BEFORE)
    owner = await asyncpg.connect(url, server_settings={"search_path": "tollkeeper"})
    await owner.execute("insert into model (id, kind) values ('m', 'chat')")
    for place, parts in enumerate(ROWS):
        text = None if parts is None else msgspec.json.encode(parts).decode()
        await owner.execute(
            "insert into price (model_id, effective_from, model_multiplier, completion_multiplier, cached_multiplier,"
            " parts)"
            " values ('m', ledger_now() + $1 * interval '1 hour', 1.234567, 3.999999, 0.100001, $2::text::jsonb)",
            place,
            text,
        )
    yield url, owner
    await owner.close()
    await stores.admin(f'drop database "{name}" with (force)')


async def charges(owner: asyncpg.Connection, usages: list[Usage]) -> list[list[Decimal]]:
    return [
        await owner.fetchval(
            PRICED,
            usage.input_units,
            usage.cached_units,
            usage.output_units,
            None if usage.parts is None else msgspec.json.encode(usage.parts).decode(),
        )
        for usage in usages
    ]


async def test_every_price_from_before_costs_what_it_did(old: tuple[str, asyncpg.Connection]) -> None:
    url, owner = old
    usages = [*some_usages(40), IN_PARTS]
    before = await charges(owner, usages)
    rows = await owner.fetch("select * from price order by id")
    await asyncio.to_thread(migrate, url)
    await owner.reload_schema_state()
    assert await charges(owner, usages) == before
    assert await owner.fetch("select * from price order by id") == rows
