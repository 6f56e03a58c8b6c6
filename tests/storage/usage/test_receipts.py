"""Receipts by request id, also of calls that are being settled while one looks."""

import asyncio
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg

from tests.console.calls import CallMade, a_call
from tests.customers import Customers
from tests.storage.catalog.examples import IN_PARTS, PRICE_PARTS
from tests.storage.customers.benches import books_are_clean
from tests.storage.usage.benches import a_bench
from tollkeeper.core.money.parts import UsageParts
from tollkeeper.core.money.prices import Usage
from tollkeeper.core.usage.receipt import Receipt
from tollkeeper.ports import NewPrice
from tollkeeper.settings import Settings
from tollkeeper.storage.postgres.database import Database
from tollkeeper.storage.usage.receipts import FIND_RUNNING, SqlReceipts


class SettledMeanwhile:
    """The database, in which a call is settled right after it was looked up in the usage log for the first time."""

    def __init__(self, database: Database, owner: asyncpg.Connection, hidden: UUID, shown: UUID) -> None:
        self._database, self._owner, self._hidden, self._shown = database, owner, hidden, shown

    async def row(self, sql: str, *values: Any) -> asyncpg.Record | None:
        if sql == FIND_RUNNING:
            await self._owner.execute(
                "update usage set request_id = $2 where request_id = $1", self._hidden, self._shown
            )
        return await self._database.row(sql, *values)


async def test_a_call_that_is_settled_between_two_looks_is_found(
    database: Database, owner: asyncpg.Connection, customers: Customers
) -> None:
    customer = await customers.a_customer()
    made = await a_call(owner, customer, CallMade(model=await customers.a_model()))
    wanted = UUID(int=made.int ^ 1)
    meanwhile = SettledMeanwhile(database, owner, made, wanted)
    found = await SqlReceipts(meanwhile).find(wanted, account_id=customer.account_id)  # type: ignore[arg-type]
    assert isinstance(found, Receipt)
    assert await SqlReceipts(database).find(UUID(int=made.int ^ 2), account_id=None) is None


async def test_a_receipt_tells_the_parts_of_its_price_and_of_its_usage(
    settings: Settings, owner: asyncpg.Connection, customers: Customers, tmp_path: Path
) -> None:
    customer = await customers.a_customer()
    model = await customers.a_model(price=NewPrice(model=Decimal(1), parts=PRICE_PARTS))
    async with a_bench(settings, owner, customers, tmp_path) as bench:
        usages = [IN_PARTS, Usage(10, 5), Usage(9, 5, 0, UsageParts(written_1h=9)), Usage(7)]
        orders = [await bench.begin(customer, model) for _ in usages]
        # Settled as one batch.
        await asyncio.gather(*(bench.end(order, usage=usage) for order, usage in zip(orders, usages, strict=True)))
        found = [await SqlReceipts(bench.worker).find(order.request_id, account_id=None) for order in orders]
    receipts = [receipt for receipt in found if isinstance(receipt, Receipt)]
    assert [receipt.usage for receipt in receipts] == usages
    assert [receipt.rate.price.parts for receipt in receipts] == [PRICE_PARTS] * 4
    assert await books_are_clean(settings)


async def test_the_name_of_a_tool_never_sinks_its_charge(
    settings: Settings, owner: asyncpg.Connection, customers: Customers, tmp_path: Path
) -> None:
    customer, model = await customers.a_customer(), await customers.a_model()
    async with a_bench(settings, owner, customers, tmp_path) as bench:
        order = await bench.begin(customer, model)
        await bench.end(order, usage=Usage(1, 1, 0, UsageParts(tools={"web\0search": 1})))
        found = await SqlReceipts(bench.worker).find(order.request_id, account_id=None)
    assert isinstance(found, Receipt)
    assert found.usage.parts == UsageParts(tools={"websearch": 1})
