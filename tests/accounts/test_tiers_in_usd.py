"""Tiers beside changes in USD: what nobody named costs what it did, parts of tokens included."""

from decimal import Decimal

import msgspec
import pytest

from tests.accounts.test_price_parts import CENT, NOTICE, Book, a_price, a_wish, entered
from tollkeeper.accounts.price_parts import PriceRefused, checked_multiplier
from tollkeeper.accounts.price_sheet import tier_costs, usd_typed_like
from tollkeeper.accounts.price_usd import UsdPrices, usd_of, usd_of_tiers
from tollkeeper.accounts.prices import PriceWish, enter_price_change
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.money.parts import UsageParts
from tollkeeper.core.money.prices import MILLIONTHS, Price, Rate, Usage
from tollkeeper.ports.catalog.prices import NewFigures, NewParts, NewTier

IN_TIER = UsageParts(written_5m=300_000)
CACHES = {"unit": "3", "cached": "0.03", "output": "15", "written_5m": "3.75"}
LONG_USD = {200_000: {"unit": "6", "output": "22.50"}}


async def typed(usd: UsdPrices, before: Price, parts: NewParts | None = None) -> Price:
    """What a change in USD books."""
    book, figures = Book(before), NewFigures(parts=parts or NewParts())
    await enter_price_change(PriceWish(model_id="m", usd=usd, figures=figures), NOTICE, book, actor="test")
    change = book.changes[-1]
    named = (change.figures.model, change.figures.completion, change.figures.cached)
    model, completion, cached = (checked_multiplier(each) for each in named if each is not None)
    return msgspec.structs.replace(a_price(), model=model, completion=completion, cached=cached, parts=change.parts)


@pytest.mark.parametrize(
    ("usd", "in_row"),
    [
        ({"unit": "2"}, "3.75"),
        ({"unit": "0.30", "output": "2.50"}, "3.75"),
        ({"unit": "2", "written_5m": "2.50"}, "2.50"),
        ({"written_5m": "5"}, "5.00"),
        ({"output": "16"}, "3.75"),
    ],
    ids=str,
)
async def test_tiers_that_a_change_does_not_name_keep_the_prices_of_their_parts(
    usd: dict[str, str], in_row: str
) -> None:
    before = await typed(UsdPrices({**CACHES}, LONG_USD), a_price(parts=None))
    after = await typed(UsdPrices(usd), before)
    again = await typed(UsdPrices({"unit": "2.80"}), after)
    for price in (before, after, again):
        costs = tier_costs(price)[200_000]
        assert {name: usd_typed_like(each * 2) for name, each in costs.items()} == {
            "input": "6.00",
            "cached": "0.06",
            "output": "22.50",
            "written_5m": "7.50",
        }
        assert Rate(price, MILLIONTHS).charge(Usage(300_000, parts=IN_TIER)) == 225 * CENT
    assert usd_of(again, Kind.CHAT) == {**usd_of(after, Kind.CHAT), "unit": "2.80"}
    assert usd_of(after, Kind.CHAT)["written_5m"] == in_row


async def test_what_costs_more_below_a_tier_than_in_it_is_refused_for_parts_too() -> None:
    before = await typed(UsdPrices({**CACHES}, LONG_USD), a_price(parts=None))
    with pytest.raises(PriceRefused, match="less above 200,000 input"):
        await typed(UsdPrices({"written_5m": "8"}), before)
    named = await typed(UsdPrices({"written_5m": "8"}, LONG_USD), before)
    assert tier_costs(named)[200_000]["written_5m"] * 2 == 16


@pytest.mark.parametrize("unit", ["3", "2", "0.30"])
async def test_a_part_that_ends_ends_in_tiers_too(unit: str) -> None:
    before = await typed(UsdPrices({**CACHES, "unit": unit}), await typed(UsdPrices(CACHES, LONG_USD), a_price()))
    in_usd = await typed(UsdPrices({"written_5m": "none"}), before)
    by_multiplier = Book(before)
    parts = await entered(by_multiplier, a_wish(parts=NewParts(written_5m=None)))
    for each in (in_usd.parts, parts):
        assert each is not None
        assert [each.written_5m, *(tier.written_5m for tier in each.tiers)] == [None, None]


async def test_a_tier_named_by_multipliers_beside_prices_in_usd_is_the_one_that_is_booked() -> None:
    before = await typed(UsdPrices(CACHES, LONG_USD), a_price(parts=None))
    tier = NewTier(model=Decimal(4), completion=Decimal(4), cached=Decimal("0.1"))
    after = await typed(UsdPrices({"unit": "2"}), before, NewParts(tiers={200_000: tier}))
    assert usd_of_tiers(after) == {200_000: {"unit": "8.00", "cached": "0.80", "output": "32.00"}}
