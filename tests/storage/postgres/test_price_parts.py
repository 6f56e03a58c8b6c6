"""The migration that brings parts of prices and usage: what was there before stays as it was, and so does who asks."""

import asyncio
import os
import random
import time
from collections.abc import AsyncIterator, Sequence
from decimal import Decimal
from uuid import UUID, uuid4

import asyncpg
import pytest

from tests.conftest import Stores
from tests.customers import Customers
from tests.storage.usage.rows import a_call
from tollkeeper.core.money.prices import Rate, Usage, in_force, millionths
from tollkeeper.core.request_id import uuid7
from tollkeeper.core.usage.receipt import Receipt
from tollkeeper.storage.catalog.models import SqlCatalog
from tollkeeper.storage.postgres.changes import Changes
from tollkeeper.storage.postgres.database import Database, DatabaseRole
from tollkeeper.storage.postgres.schema import migrate
from tollkeeper.storage.usage.receipts import SqlReceipts
from tools.stored_functions import mismatched

BEFORE = "0023"
# As the version before asks.
HOLD = "select verdict from hold_batch($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
SETTLE = "select settled from settle_batch($1, $2, $3, $4, $5, $6, $7, $8, $9)"
ENTER = "select * from enter_price($1, $2, $3, $4, $5, $6, $7, $8, $9)"
ADD_PRICE = "select verdict from enter_price($1, $2, $3, $4, $5, $6, interval '0', null, $7)"
GROUPS = (1_000_000, 800_000, 1_234_567)
FILES = """
select array_agg(pg_relation_filenode(relid) order by relid) from pg_partition_tree('usage') where isleaf
"""


class House:
    """A database of the version before, with one account that calls one model."""

    def __init__(self, url: str, owner: asyncpg.Connection) -> None:
        self.url = url
        self.owner = owner

    async def furnish(self) -> None:
        await self.owner.execute("insert into account (name) values ('a')")
        await self.owner.execute(
            "insert into api_key (account_id, name, pepper_version, digest, hint) values (1, 'k', 1, $1, 'h')",
            bytes(32),
        )
        await self.owner.execute("select credit(1, null, 1000000000000000, 'test', 'test', 9, 0)")
        await self.owner.execute("insert into worker (node) values ('before')")
        async with self.owner.transaction():
            await self.owner.execute("insert into model (id, kind) values ('m', 'chat')")
            figures = (Decimal("1.234567"), Decimal("3.999999"), Decimal("0.100001"))
            assert await self.owner.fetchval(ADD_PRICE, "m", "", *figures, None, "test") == "entered"

    async def rate(self, group: int) -> Rate:
        """As the catalog has it now."""
        database = Database(self.url, DatabaseRole.GATEWAY, connections=1, patience_seconds=5)
        await database.open()
        try:
            now = await self.owner.fetchval("select ledger_now()")
            price = in_force((await SqlCatalog(database, Changes(database)).shelf()).models["m"].prices, now)
        finally:
            await database.close()
        assert price is not None
        return Rate(price, group)

    async def calls(self, usages: Sequence[Usage], charges: Sequence[int], groups: Sequence[int]) -> list[UUID]:
        many = len(usages)
        ids = [uuid7(time.time_ns() // 1_000_000, os.urandom(10)) for _ in usages]
        ones = [1] * many
        held = await self.owner.fetch(
            HOLD, 1, ids, [0] * many, ones, ones, list(charges), ones, list(groups), ones, [60] * many
        )
        assert {row["verdict"] for row in held} == {"admitted"}
        counts = zip(*((usage.input_units, usage.cached_units, usage.output_units) for usage in usages), strict=True)
        texts = [["provider"] * many, ["completed"] * many, ["[]"] * many]
        settled = await self.owner.fetch(SETTLE, ids, ones, list(charges), *map(list, counts), *texts)
        assert all(row["settled"] for row in settled)
        return ids

    async def receipts(self, ids: Sequence[UUID]) -> list[Receipt]:
        database = Database(self.url, DatabaseRole.CONSOLE, connections=1, patience_seconds=5)
        await database.open()
        try:
            found = [await SqlReceipts(database).find(request_id, account_id=1) for request_id in ids]
        finally:
            await database.close()
        return [receipt for receipt in found if isinstance(receipt, Receipt)]


@pytest.fixture
async def house(stores: Stores) -> AsyncIterator[House]:
    name = f"test_{uuid4().hex}"
    await stores.admin(f'create database "{name}"')
    url = stores.url_of(name)
    await asyncio.to_thread(migrate, url, BEFORE)
    owner = await asyncpg.connect(url, server_settings={"search_path": "tollkeeper"})
    made = House(url, owner)
    await made.furnish()
    yield made
    await owner.close()
    await stores.admin(f'drop database "{name}" with (force)')


def some_usages(count: int) -> list[Usage]:
    chance = random.Random(24)  # noqa: S311 (figures, the same in each run)
    return [
        Usage(cached + chance.randrange(10**6), chance.randrange(10**5), cached)
        for cached in (chance.choice([0, chance.randrange(10**6)]) for _ in range(count))
    ]


async def test_every_receipt_from_before_keeps_its_sum_and_no_row_is_written_anew(house: House) -> None:
    row = await house.owner.fetchrow("select * from price")
    old = tuple(millionths(row[f"{name}_multiplier"]) for name in ("model", "completion", "cached"))
    usages, groups = some_usages(60), [GROUPS[number % 3] for number in range(60)]
    # The formula by itself, as it was before there were parts.
    charges = [
        (2 * group * old[0] * weighted + 10**12) // (2 * 10**12)
        for usage, group in zip(usages, groups, strict=True)
        for weighted in [
            (usage.input_units - usage.cached_units) * 10**6 + usage.cached_units * old[2] + usage.output_units * old[1]
        ]
    ]
    ids = await house.calls(usages, charges, groups)
    files, lines = await house.owner.fetchval(FILES), await house.owner.fetch("select * from usage order by 1")

    await asyncio.to_thread(migrate, house.url)

    assert await house.owner.fetchval(FILES) == files
    kept = await house.owner.fetch("select * from usage order by 1")
    assert [(*line, None) for line in lines] == [tuple(line) for line in kept]
    receipts = await house.receipts(ids)
    assert [receipt.charged for receipt in receipts] == charges
    assert [receipt.rate.charge(receipt.usage) for receipt in receipts] == charges
    assert not any(receipt.usage.parts or receipt.rate.price.parts for receipt in receipts)
    assert await mismatched(house.owner) == []


async def test_a_node_of_the_version_before_settles_and_enters_prices_as_ever(house: House) -> None:
    # It has asked before, and keeps its plans.
    await house.calls([Usage(1)], [1], [1])
    await asyncio.to_thread(migrate, house.url)
    rate, usages = await house.rate(GROUPS[2]), some_usages(3)
    charges = [rate.charge(usage) for usage in usages]
    ids = await house.calls(usages, charges, [rate.group] * 3)
    assert [(found.charged, found.usage) for found in await house.receipts(ids)] == list(
        zip(charges, usages, strict=True)
    )
    entered = await house.owner.fetchrow(ENTER, "m", "", Decimal(2), None, None, None, None, "at once", "test")
    assert entered["verdict"] == "entered"
    assert await house.owner.fetchval("select parts from price where id = 2") is None


@pytest.mark.parametrize("parts", ["[]", "1", '"text"', "null"])
async def test_parts_are_objects_or_nothing(owner: asyncpg.Connection, customers: Customers, parts: str) -> None:
    model, customer = await customers.a_model(), await customers.a_customer()
    await a_call(owner, customer, await owner.fetchval("select id from price where model_id = $1", model))
    for table in ("price", "usage"):
        with pytest.raises(asyncpg.CheckViolationError):
            await owner.execute(f"update {table} set parts = $1", parts)  # noqa: S608
