"""Parts of prices in the book: entered, kept, replaced and ended, previewed, and read by all who go by prices."""

from collections.abc import AsyncIterator
from datetime import timedelta
from decimal import Decimal

import asyncpg
import msgspec
import pytest

from tests.customers import ACTOR, Customers
from tests.storage.catalog.examples import IN_PARTS, PRICE_PARTS
from tests.storage.usage.rows import Counted, a_call
from tollkeeper.app.database import opened
from tollkeeper.core.money.parts import PriceParts, UsageParts
from tollkeeper.core.money.prices import MILLIONTHS, Price, Rate, Usage
from tollkeeper.ports import NewPrice
from tollkeeper.ports.catalog.prices import Effect, Entered, NewFigures, Preview, PreviewTooLong, PriceChange, PriceDesk
from tollkeeper.settings import Settings
from tollkeeper.storage.catalog.models import SqlCatalog
from tollkeeper.storage.catalog.price_list import SqlPriceList
from tollkeeper.storage.catalog.price_preview import ReadingBounds, preview_of
from tollkeeper.storage.postgres.changes import Changes
from tollkeeper.storage.postgres.database import Database, DatabaseRole

WEEK = timedelta(days=7)
WITH_PARTS = NewPrice(model=Decimal("1.25"), completion=Decimal(4), cached=Decimal("0.1"), parts=PRICE_PARTS)


@pytest.fixture
def desk(customers: Customers) -> PriceDesk:
    return customers.desk.prices


@pytest.fixture
async def gateway(settings: Settings) -> AsyncIterator[Database]:
    async with opened(settings, DatabaseRole.GATEWAY) as database:
        yield database


async def enter(
    desk: PriceDesk, model: str, days: int, *, multiplier: Decimal | None = None, parts: PriceParts | None = None
) -> Price:
    change = PriceChange(
        model_id=model,
        variant="",
        figures=NewFigures(model=multiplier),
        effective_from=await desk.now() + timedelta(days=days),
        notice=timedelta(0),
        parts=parts,
    )
    entry = await desk.enter(change, actor=ACTOR)
    assert entry.verdict is Entered.ENTERED
    assert entry.price is not None
    return entry.price


async def test_a_change_put_together_from_another_price_than_the_one_before_is_not_booked(
    customers: Customers, desk: PriceDesk
) -> None:
    model = await customers.a_model()
    [first] = await desk.rows(model)
    change = PriceChange(
        model_id=model,
        variant="",
        figures=NewFigures(model=Decimal(2)),
        effective_from=None,
        notice=timedelta(days=1),
        follows=first.price.id,
    )
    second = await desk.enter(change, actor=ACTOR)
    assert second.price is not None
    late = await desk.enter(change, actor=ACTOR)
    none = await desk.enter(msgspec.structs.replace(change, follows=0), actor=ACTOR)
    assert (late.verdict, late.price, none.verdict) == (Entered.OVERTAKEN, None, Entered.OVERTAKEN)
    assert [row.price.id for row in await desk.rows(model)] == [first.price.id, second.price.id]


async def test_the_parts_of_a_new_model_are_read_by_gateway_price_list_and_desk(
    customers: Customers, desk: PriceDesk, gateway: Database
) -> None:
    model = await customers.a_model(price=WITH_PARTS)
    changes = Changes(gateway)
    [sold] = (await SqlCatalog(gateway, changes).shelf()).models[model].prices
    [listed] = (await SqlPriceList(gateway, changes).published()).models
    [booked] = await desk.rows(model)
    assert sold.parts == listed.rows[0].price.parts == booked.price.parts == PRICE_PARTS


async def test_parts_that_are_not_named_stay_and_named_ones_are_the_whole(
    customers: Customers, desk: PriceDesk
) -> None:
    model = await customers.a_model(price=WITH_PARTS)
    dearer = await enter(desk, model, 1, multiplier=Decimal(2))
    assert (dearer.model, dearer.parts) == (2_000_000, PRICE_PARTS)
    only_one = await enter(desk, model, 2, parts=PriceParts(written_1h=3_000_000))
    assert (only_one.model, only_one.parts) == (2_000_000, PriceParts(written_1h=3_000_000))
    none = await enter(desk, model, 3, parts=PriceParts())
    assert (none.model, none.parts) == (2_000_000, None)
    assert [row.price.parts for row in await desk.rows(model)] == [PRICE_PARTS, PRICE_PARTS, only_one.parts, None]


async def test_what_was_said_of_parts_is_on_record(
    customers: Customers, desk: PriceDesk, owner: asyncpg.Connection
) -> None:
    model = await customers.a_model()
    await enter(desk, model, 1, parts=PRICE_PARTS)
    await enter(desk, model, 2, multiplier=Decimal(2))
    told = await owner.fetch("select detail -> 'parts' as parts from audit where action = 'price.enter' order by id")
    assert [msgspec.json.decode(row["parts"], type=PriceParts | None) for row in told] == [PRICE_PARTS, None]


async def test_a_preview_goes_by_every_part_of_both_prices(
    customers: Customers, desk: PriceDesk, owner: asyncpg.Connection
) -> None:
    customer, model = await customers.a_customer(), await customers.a_model(price=WITH_PARTS)
    [old] = [row.price for row in await desk.rows(model)]
    fewer = PriceParts(written_1h=2_500_000, tools={"code": 7_000_001})
    new = msgspec.structs.replace(old, completion=3_333_333, parts=fewer)
    plain = msgspec.structs.replace(old, parts=None)
    calls = [
        (IN_PARTS, 1_234_567),
        (Usage(199, 7, 3), 800_000),
        (Usage(300_000, 7, 299_999), 1_000_000),
        (Usage(50, 9, 0, UsageParts(audio_output=9)), 777_777),
    ]
    for usage, group in calls:
        await a_call(owner, customer, old.id, usage=Counted(usage, group))

    def cost(price: Price) -> int:
        return sum(Rate(price, group).charge(usage) for usage, group in calls)

    async def effect(before: Price, after: Price) -> Effect:
        return (await desk.effect(before, after, WEEK, accounts_most=5)).total

    for before, after in ((old, new), (new, old), (plain, old), (old, plain)):
        found = await effect(before, after)
        assert (found.calls, found.old, found.new) == (4, cost(before), cost(after))


@pytest.mark.parametrize(("days", "words"), [(7, "Ask for fewer days"), (1, "Try again when less is going on")])
async def test_a_preview_that_takes_too_long_is_given_up_in_words(
    days: int, words: str, settings: Settings, customers: Customers, desk: PriceDesk, owner: asyncpg.Connection
) -> None:
    [price] = [row.price for row in await desk.rows(await customers.a_model(price=WITH_PARTS))]
    async with opened(settings, DatabaseRole.CONSOLE) as database, owner.transaction():
        await owner.execute("lock table price_day in access exclusive mode")
        bounds = ReadingBounds(seconds=0.05)
        with pytest.raises(PreviewTooLong, match=words):
            await preview_of(database, price, price, timedelta(days=days), accounts_most=5, bounds=bounds)


async def test_of_many_calls_some_are_read_and_the_preview_says_of_how_many(
    settings: Settings, customers: Customers, desk: PriceDesk, owner: asyncpg.Connection
) -> None:
    customer, model = await customers.a_customer(), await customers.a_model(price=WITH_PARTS)
    [price] = [row.price for row in await desk.rows(model)]
    days_ago = (0.2, 0.2, 0.2, 1.5, 2.5, 4.5, 6.5)
    for days in days_ago:
        await a_call(owner, customer, price.id, usage=Counted(Usage(300_000, 7)), days_ago=days)
    each = Rate(price, MILLIONTHS).charge(Usage(300_000, 7))
    async with opened(settings, DatabaseRole.CONSOLE) as database:

        async def looked_at(calls: int | None) -> Preview:
            bounds = ReadingBounds(calls=calls)
            return await preview_of(database, price, price, WEEK, accounts_most=5, bounds=bounds)

        some, whole = await looked_at(2), await looked_at(7)
        assert await looked_at(None) == whole
    assert (some.calls_in_all, some.total.calls, some.total.new) == (7, 2, 2 * each)
    assert (whole.calls_in_all, whole.total.calls, whole.total.new) == (7, 7, 7 * each)
    # Calls that are added up by day count as calls that there are.
    while await owner.fetchval("select add_up_usage(2)"):
        pass
    while await owner.fetchval("select add_up_prices(2)"):
        pass
    async with opened(settings, DatabaseRole.CONSOLE) as database:
        assert await preview_of(database, price, price, WEEK, accounts_most=5, bounds=ReadingBounds(calls=2)) == some


async def test_a_call_that_nothing_was_charged_for_costs_nothing_at_any_price(
    customers: Customers, desk: PriceDesk, owner: asyncpg.Connection
) -> None:
    customer, model = await customers.a_customer(), await customers.a_model(price=WITH_PARTS)
    [price] = [row.price for row in await desk.rows(model)]
    await a_call(owner, customer, price.id, usage=Counted(Usage(0), served=False))
    found = (await desk.effect(price, price, WEEK, accounts_most=5)).total
    assert (found.calls, found.old, found.new) == (1, 0, 0)
