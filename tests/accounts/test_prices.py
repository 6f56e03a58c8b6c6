"""Price changes: announced as they are entered, and never sooner in force than everybody could know."""

import random
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from decimal import Decimal

import asyncpg
import pytest

from tests.customers import ACTOR, Customers
from tests.storage.customers.benches import Time, books_are_clean
from tests.storage.usage.rows import Counted, a_call
from tollkeeper.accounts.price_parts import PriceRefused
from tollkeeper.accounts.price_usd import UsdPrices, usd_of
from tollkeeper.accounts.prices import (
    EnteredPrice,
    PriceWish,
    enter_price_change,
    preview_price_change,
    withdraw_price_change,
)
from tollkeeper.app.database import opened
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.money.parts import PriceParts
from tollkeeper.core.money.prices import Price, Rate, Usage, in_force
from tollkeeper.ports import NewPrice, NotOnFile
from tollkeeper.ports.catalog.prices import NewFigures, NewParts, PriceDesk
from tollkeeper.settings import Settings
from tollkeeper.storage.catalog.models import SqlCatalog
from tollkeeper.storage.postgres.changes import Changes
from tollkeeper.storage.postgres.database import DatabaseRole

NOTICE = timedelta(hours=24)
DEARER = NewFigures(model=Decimal(2))


@pytest.fixture
def desk(customers: Customers) -> PriceDesk:
    return customers.desk.prices


@pytest.fixture
def passing(owner: asyncpg.Connection) -> Time:
    return Time(owner)


@pytest.fixture
async def catalog(settings: Settings) -> AsyncIterator[SqlCatalog]:
    """Read afresh each time: nothing follows the changes here."""
    async with opened(settings, DatabaseRole.GATEWAY) as database:
        yield SqlCatalog(database, Changes(database))


async def enter(
    desk: PriceDesk,
    model: str,
    at: datetime | None = None,
    *,
    figures: NewFigures = DEARER,
    force: str | None = None,
) -> EnteredPrice:
    wish = PriceWish(model_id=model, figures=figures, effective_from=at, forced_because=force)
    return await enter_price_change(wish, NOTICE, desk, actor=ACTOR)


async def price_at(catalog: SqlCatalog, model: str, now: datetime) -> Price | None:
    return in_force((await catalog.shelf()).models[model].prices, now)


@pytest.mark.rule("V4.1", "S7.3")
async def test_a_change_is_announced_a_day_ahead_and_applies_from_its_instant(
    customers: Customers, desk: PriceDesk, catalog: SqlCatalog, passing: Time, owner: asyncpg.Connection
) -> None:
    model = await customers.a_model()
    entered = await enter(desk, model)
    ahead = await owner.fetchval("select effective_from - announced_at from price where id = $1", entered.price_id)
    assert timedelta(hours=24) <= ahead < timedelta(hours=24, minutes=1)
    before = await price_at(catalog, model, entered.effective_from - timedelta(microseconds=1))
    after = await price_at(catalog, model, entered.effective_from)
    assert before is not None
    assert after is not None
    assert (before.model, after.model, after.id) == (1_000_000, 2_000_000, entered.price_id)
    # A node whose clock is late finds the old one still, and one that starts later finds the new one.
    await passing.go_to(entered.effective_from + timedelta(seconds=1))
    assert await price_at(catalog, model, entered.effective_from - timedelta(seconds=5)) == before
    assert await price_at(catalog, model, entered.effective_from) == after
    await passing.pass_by(hours=1)
    assert [price.id for price in (await catalog.shelf()).models[model].prices] == [entered.price_id]
    assert await price_at(catalog, model, await passing.now()) == after


@pytest.mark.rule("V4.1")
async def test_what_comes_too_soon_is_refused_unless_forced(
    customers: Customers, desk: PriceDesk, passing: Time, owner: asyncpg.Connection
) -> None:
    model = await customers.a_model()
    soon = await passing.now() + timedelta(hours=23, minutes=59)
    with pytest.raises(PriceRefused, match="too soon"):
        await enter(desk, model, soon)
    assert await owner.fetchval("select count(*) from price") == 1
    with pytest.raises(ValueError, match="Say why"):
        await enter(desk, model, soon, force="  ")
    forced = await enter(desk, model, soon, force="the provider changed theirs today")
    assert forced.effective_from == soon
    told = await owner.fetchrow("select actor, detail ->> 'forced' as why from audit where action = 'price.enter'")
    assert tuple(told) == (ACTOR, "the provider changed theirs today")


async def test_even_a_forced_one_leaves_nodes_the_time_to_hear_of_it(
    customers: Customers, desk: PriceDesk, passing: Time
) -> None:
    model = await customers.a_model()
    for back in (timedelta(0), timedelta(hours=1)):
        with pytest.raises(PriceRefused, match="every node"):
            await enter(desk, model, await passing.now() - back, force="at once")
    now = await passing.now()
    at_once = await enter(desk, model, force="at once")
    assert timedelta(seconds=5) <= at_once.effective_from - now < timedelta(seconds=30)


async def test_a_second_forced_change_within_seconds_follows_the_first_one(
    customers: Customers, desk: PriceDesk
) -> None:
    """Both notations of the book: 2.50 USD of output are no multiple of 0.30 USD, and 2.40 USD are."""
    model = await customers.a_model(price=NewPrice(model=Decimal("0.15"), completion=Decimal(8), cached=Decimal("0.1")))
    booked = []
    for usd in ({"output": "2.50"}, {"output": "2.40"}, {"cached": "0.05"}):
        wish = PriceWish(model_id=model, usd=UsdPrices(usd), forced_because="a slip")
        booked.append((await enter_price_change(wish, NOTICE, desk, actor=ACTOR)).price)
    assert [usd_of(price, Kind.CHAT) for price in booked] == [
        {"unit": "0.30", "cached": "0.03", "output": "2.50"},
        {"unit": "0.30", "cached": "0.03", "output": "2.40"},
        {"unit": "0.30", "cached": "0.05", "output": "2.40"},
    ]


async def test_what_is_not_named_stays_as_it_is(customers: Customers, desk: PriceDesk) -> None:
    model = await customers.a_model(price=NewPrice(model=Decimal("1.25"), completion=Decimal(4), cached=Decimal("0.5")))
    entered = await enter(desk, model, figures=NewFigures(completion=Decimal(3)))
    _, changed = [row.price for row in await desk.rows(model)]
    assert (changed.model, changed.completion, changed.cached) == (1_250_000, 3_000_000, 500_000)
    assert entered.price == changed, "the operator is told what was booked"


async def test_parts_that_are_not_named_stay_as_they_are(customers: Customers, desk: PriceDesk) -> None:
    first = PriceParts(written_5m=1_250_000, tools={"web_search": 5})
    model = await customers.a_model(price=NewPrice(model=Decimal(1), parts=first))
    wish = PriceWish(model_id=model, figures=NewFigures(parts=NewParts(written_1h=Decimal(2))))
    preview = await preview_price_change(wish, NOTICE, desk)
    added = await enter(desk, model, figures=wish.figures)
    assert (
        added.price.parts
        == preview.new.parts
        == PriceParts(written_5m=1_250_000, written_1h=2_000_000, tools={"web_search": 5})
    )
    later = await enter(desk, model, added.effective_from + timedelta(days=1), figures=NewFigures(model=Decimal(2)))
    assert later.price.parts == added.price.parts
    none = NewParts(written_5m=None, written_1h=None, tools={"web_search": None})
    last = await enter(desk, model, later.effective_from + timedelta(days=1), figures=NewFigures(parts=none))
    assert (last.price.parts, last.price.model) == (None, 2_000_000)


@pytest.mark.parametrize("days", [None, 1.5, 2, 3], ids=["at once", "between", "at the instant", "after"])
async def test_a_preview_takes_what_is_not_named_from_where_the_change_itself_takes_it(
    customers: Customers, desk: PriceDesk, passing: Time, days: float | None
) -> None:
    model = await customers.a_model()
    announced = await passing.now() + timedelta(days=2)
    await enter(desk, model, announced, figures=NewFigures(completion=Decimal(7)))
    at = None if days is None else announced + timedelta(days=days - 2)
    wish = PriceWish(model_id=model, figures=DEARER, effective_from=at)
    preview = await preview_price_change(wish, NOTICE, desk)
    assert (preview.old.completion, preview.new.completion) == ((7_000_000,) * 2 if days == 3 else (1_000_000,) * 2)
    if days == 2:
        # There a change is refused: another one holds from then.
        return
    booked = (await enter_price_change(wish, NOTICE, desk, actor=ACTOR)).price
    assert (booked.model, booked.completion, booked.cached) == (
        preview.new.model,
        preview.new.completion,
        preview.new.cached,
    )


async def test_a_preview_without_a_time_is_of_when_the_notice_allows(
    customers: Customers, desk: PriceDesk, passing: Time
) -> None:
    model = await customers.a_model()
    soon = await passing.now() + timedelta(hours=1)
    await enter(desk, model, soon, figures=NewFigures(completion=Decimal(7)), force="theirs rose")
    wish = PriceWish(model_id=model, figures=DEARER)
    preview = await preview_price_change(wish, NOTICE, desk)
    booked = (await enter_price_change(wish, NOTICE, desk, actor=ACTOR)).price
    assert booked.completion == preview.new.completion == preview.old.completion == 7_000_000


async def test_a_variant_that_had_no_price_needs_no_notice_and_every_other_does(
    customers: Customers, desk: PriceDesk, passing: Time
) -> None:
    model = await customers.a_model()
    now = await passing.now()
    for past in (now - timedelta(days=2_000), now):
        wish = PriceWish(model_id=model, variant="1024x1024", figures=DEARER, effective_from=past)
        with pytest.raises(PriceRefused, match="too soon"):
            await enter_price_change(wish, NOTICE, desk, actor=ACTOR)
    wish = PriceWish(model_id=model, variant="1024x1024", figures=DEARER)
    at_once = await enter_price_change(wish, NOTICE, desk, actor=ACTOR)
    assert now < at_once.effective_from <= await passing.now()
    soon = PriceWish(
        model_id=model, variant="1024x1024", figures=DEARER, effective_from=at_once.effective_from + timedelta(hours=1)
    )
    with pytest.raises(PriceRefused, match="too soon"):
        await enter_price_change(soon, NOTICE, desk, actor=ACTOR)


@pytest.mark.parametrize(
    ("sold_as", "entered_as", "told"),
    [("", "1024x1024", "priced by token.*as another model"), ("1024x1024", "", "priced by size: name the size")],
    ids=["a size where tokens are", "tokens where sizes are"],
)
async def test_images_stay_priced_as_they_are(
    customers: Customers, desk: PriceDesk, sold_as: str, entered_as: str, told: str
) -> None:
    model = await customers.a_model(kind=Kind.IMAGE, price=NewPrice(model=Decimal(5), variant=sold_as))
    wish = PriceWish(model_id=model, variant=entered_as, figures=DEARER)
    with pytest.raises(PriceRefused, match=told):
        await enter_price_change(wish, NOTICE, desk, actor=ACTOR)
    with pytest.raises(PriceRefused, match=told):
        await preview_price_change(wish, NOTICE, desk)
    wish = PriceWish(model_id=model, variant="1792x1024" if sold_as else "", figures=DEARER)
    assert (await enter_price_change(wish, NOTICE, desk, actor=ACTOR)).price.variant == wish.variant


@pytest.mark.parametrize(
    ("figures", "told"),
    [
        pytest.param(NewFigures(), "Say which", id="nothing"),
        pytest.param(NewFigures(model=Decimal(-1)), "not a multiplier", id="below zero"),
        pytest.param(NewFigures(cached=Decimal("0.0000001")), "not a multiplier", id="seven decimals"),
        pytest.param(NewFigures(completion=Decimal("NaN")), "not a multiplier", id="no number"),
    ],
)
async def test_figures_are_checked(customers: Customers, desk: PriceDesk, figures: NewFigures, told: str) -> None:
    model = await customers.a_model()
    with pytest.raises(PriceRefused, match=told):
        await enter(desk, model, figures=figures)


async def test_what_does_not_exist_is_named(desk: PriceDesk) -> None:
    with pytest.raises(NotOnFile, match="no model 'none'"):
        await enter(desk, "none")
    with pytest.raises(NotOnFile, match="no price 77"):
        await withdraw_price_change(77, "a slip", desk, actor=ACTOR)


async def test_a_change_is_withdrawn_before_it_takes_effect_and_stays_in_the_book(
    customers: Customers, desk: PriceDesk, catalog: SqlCatalog, passing: Time
) -> None:
    model = await customers.a_model()
    at = await passing.now() + timedelta(days=2)
    entered = await enter(desk, model, at)
    with pytest.raises(PriceRefused, match="already"):
        await enter(desk, model, at)
    await withdraw_price_change(entered.price_id, "a slip", desk, actor=ACTOR)
    with pytest.raises(PriceRefused, match="withdrawn before"):
        await withdraw_price_change(entered.price_id, "a slip", desk, actor=ACTOR)
    unchanged = await price_at(catalog, model, at + timedelta(days=1))
    assert unchanged is not None
    assert unchanged.model == 1_000_000
    # Another may take its place, and time passes it by.
    again = await enter(desk, model, at, figures=NewFigures(model=Decimal(3)))
    await passing.pass_by(days=3)
    now_held = await price_at(catalog, model, await passing.now())
    assert now_held is not None
    assert now_held.id == again.price_id
    rows = [(row.price.id, row.withdraw_reason) for row in await desk.rows(model)]
    assert rows[1:] == [(entered.price_id, "a slip"), (again.price_id, None)]
    with pytest.raises(PriceRefused, match="is in force"):
        await withdraw_price_change(again.price_id, "too late", desk, actor=ACTOR)


async def test_whoever_withdraws_a_change_is_told_what_was_entered_on_top_of_it(
    customers: Customers, desk: PriceDesk, passing: Time
) -> None:
    model, other = await customers.a_model(), await customers.a_model()
    now = await passing.now()
    await enter(desk, model, now + timedelta(days=9))
    slip = await enter(desk, model, now + timedelta(days=4))
    await enter(desk, model, now + timedelta(days=3))
    await enter(desk, other, now + timedelta(days=5))
    above = await enter(desk, model, now + timedelta(days=5), figures=NewFigures(cached=Decimal(1)))
    gone = await enter(desk, model, now + timedelta(days=6))
    assert await withdraw_price_change(gone.price_id, "a slip", desk, actor=ACTOR) == []
    assert await withdraw_price_change(slip.price_id, "a slip", desk, actor=ACTOR) == [above.price]
    assert above.price.model == 2_000_000


async def test_the_preview_is_what_the_formula_says_call_by_call(
    customers: Customers, desk: PriceDesk, owner: asyncpg.Connection, settings: Settings
) -> None:
    model = await customers.a_model(price=NewPrice(model=Decimal("1.25"), completion=Decimal(4), cached=Decimal("0.5")))
    other = await customers.a_model()
    first, second = await customers.a_customer(), await customers.a_customer()
    [old] = [row.price for row in await desk.rows(model)]
    [others] = [row.price for row in await desk.rows(other)]
    new = Price(
        id=old.id, model_id=model, effective_from=old.effective_from, model=333_333, completion=3_333_333, cached=77_777
    )
    chance = random.Random(7)  # noqa: S311 (figures, the same in each run)
    cost = {first.account_id: [0, 0], second.account_id: [0, 0]}
    for number in range(60):
        customer = (first, second)[number % 2]
        fresh, cached, output = (chance.randrange(1, 5_000) for _ in range(3))
        group = chance.choice([1_000_000, 800_000, 1_234_567])
        usage = Usage(fresh + cached, output, cached)
        await a_call(owner, customer, old.id, usage=Counted(usage, group, charged=5))
        cost[customer.account_id][0] += Rate(old, group).charge(usage)
        cost[customer.account_id][1] += Rate(new, group).charge(usage)
    await a_call(owner, first, old.id, days_ago=8)
    await a_call(owner, first, others.id)

    figures = NewFigures(model=Decimal("0.333333"), completion=Decimal("3.333333"), cached=Decimal("0.077777"))
    preview = await preview_price_change(PriceWish(model_id=model, figures=figures), NOTICE, desk)
    assert (preview.old, preview.new) == (old, new)
    assert {effect.account_id: [effect.old, effect.new] for effect in preview.accounts} == cost
    assert (preview.total.calls, preview.total.charged, preview.accounts_in_all) == (60, 300, 2)
    assert [preview.total.old, preview.total.new] == [sum(each) for each in zip(*cost.values(), strict=True)]
    assert len(await desk.rows(model)) == 1, "a preview changes nothing"


async def test_a_preview_of_a_model_that_nobody_used_says_so(customers: Customers, desk: PriceDesk) -> None:
    preview = await preview_price_change(PriceWish(model_id=await customers.a_model(), figures=DEARER), NOTICE, desk)
    assert (preview.total.calls, preview.total.new, list(preview.accounts)) == (0, 0, [])


async def test_the_books_are_clean_with_prices_of_every_fate(
    customers: Customers, desk: PriceDesk, settings: Settings
) -> None:
    model = await customers.a_model()
    entered = await enter(desk, model)
    await withdraw_price_change(entered.price_id, "a slip", desk, actor=ACTOR)
    assert await books_are_clean(settings)
