"""Prices as vendors' lists have them, in USD for a million tokens: taken as they stand, and charged to the unit."""

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from math import floor

import pytest
from msgspec import UNSET

from tests.accounts.test_price_usd import BEFORE
from tollkeeper.accounts.price_sheet import rewritten, sheet_of
from tollkeeper.accounts.price_usd import NONE, UsdPrices, figures_in_usd, usd_of, usd_of_tiers
from tollkeeper.accounts.prices import first_price
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.money.amounts import UNITS_PER_USD
from tollkeeper.core.money.parts import UsageParts
from tollkeeper.core.money.prices import MILLIONTHS, Price, Rate, Usage, millionths
from tollkeeper.ports.catalog.prices import NewFigures

MILLION = 1_000_000
# Input, cached input (none: as input), output.
LISTED = [
    ("0.15", "0.075", "0.60"),
    ("0.30", "0.03", "2.50"),
    ("0.30", "0.075", "2.50"),
    ("1.25", "0.125", "10"),
    ("1.25", "0.31", "10"),
    ("3", "0.30", "15"),
    ("0.10", "0.025", "0.40"),
    ("0.10", "0.01", "0.40"),
    ("0.80", "0.08", "4"),
    ("1", "0.10", "5"),
    ("0.075", "0.01875", "0.30"),
    ("2.50", "1.25", "10"),
    ("5", "0.50", "25"),
    ("15", "1.50", "75"),
    ("0.05", "0.005", "0.40"),
    ("0.25", "0.025", "2"),
    ("1.75", "0.175", "14"),
    ("1.10", "0.55", "4.40"),
    ("1.10", "0.275", "4.40"),
    ("0.27", "0.07", "1.10"),
    ("0.28", "0.028", "0.42"),
    ("0.55", "0.14", "2.19"),
    ("0.59", "none", "0.79"),
    ("0.05", "none", "0.08"),
    ("0.11", "none", "0.34"),
    ("0.29", "none", "0.59"),
    ("2", "0.50", "8"),
    ("0.40", "0.10", "1.60"),
    ("0.20", "0.05", "0.50"),
    ("0.35", "none", "0.75"),
    ("0.90", "none", "0.90"),
    ("0.60", "0.11", "2.20"),
    ("0.07", "0.014", "0.27"),
    ("2.70", "none", "13.37"),
]
USAGES = (
    Usage(MILLION),
    Usage(0, MILLION),
    Usage(MILLION, 0, MILLION),
    Usage(1, 1),
    Usage(12_345, 6_789, 1_001),
    Usage(999_983, 7, 13),
)
GROUPS = (MILLIONTHS, 800_000, 1_234_567)


def priced(usd: Mapping[str, str], tiers: Mapping[int, Mapping[str, str]] | None = None) -> Price:
    new = first_price(figures_in_usd(UsdPrices(usd, tiers or {}), Kind.CHAT, None))
    model, completion, cached = map(millionths, (new.model, new.completion, new.cached))
    return Price(
        id=1,
        model_id="m",
        effective_from=BEFORE.effective_from,
        model=model,
        completion=completion,
        cached=cached,
        parts=new.parts,
    )


def listed(row: tuple[str, str, str]) -> dict[str, str]:
    return dict(zip(("unit", "cached", "output"), row, strict=True))


def cost(usd: Mapping[str, str], usage: Usage, group: int) -> int:
    """In micro-quota, half up, by the list alone."""
    fresh, read = Fraction(usd["unit"]), Fraction(usd["unit"] if usd["cached"] == NONE else usd["cached"])
    total = (usage.input_units - usage.cached_units) * fresh + usage.cached_units * read
    total += usage.output_units * Fraction(usd["output"])
    return floor(total * UNITS_PER_USD * group / (MILLION * MILLIONTHS) + Fraction(1, 2))


@pytest.mark.parametrize("row", LISTED, ids="/".join)
def test_a_listed_price_is_taken_and_charged_to_the_unit(row: tuple[str, str, str]) -> None:
    usd = listed(row)
    price = priced(usd)
    for group in GROUPS:
        assert [Rate(price, group).charge(usage) for usage in USAGES] == [cost(usd, usage, group) for usage in USAGES]


@pytest.mark.parametrize("row", LISTED, ids="/".join)
def test_a_listed_price_reads_as_it_was_typed(row: tuple[str, str, str]) -> None:
    found = {name: Decimal(text) for name, text in usd_of(priced(listed(row)), Kind.CHAT).items()}
    assert found == {name: Decimal(text) for name, text in listed(row).items() if text != NONE}


@pytest.mark.parametrize("row", LISTED, ids="/".join)
def test_sent_again_as_it_reads_a_price_changes_nothing(row: tuple[str, str, str]) -> None:
    price = priced(listed(row))
    assert sheet_of(priced(usd_of(price, Kind.CHAT))) == sheet_of(price)


def test_prices_that_divide_are_multipliers_and_others_stand_by_themselves() -> None:
    divides, does_not = priced(listed(LISTED[0])), priced(listed(LISTED[1]))
    assert (divides.model, divides.completion, divides.cached, divides.parts) == (75_000, 4_000_000, 500_000, None)
    assert (does_not.model, does_not.completion, does_not.cached) == (MILLIONTHS, 1_250_000, 15_000)
    assert does_not.input == 150_000


def test_parts_and_tiers_beside_prices_that_do_not_divide_cost_what_was_typed() -> None:
    usd = {"unit": "0.30", "cached": "0.03", "output": "2.50", "written_5m": "0.375", "audio_input": "0.60"}
    price = priced(usd, {200_000: {"unit": "0.40", "output": "3.50"}})
    rate = Rate(price, MILLIONTHS)
    written = Usage(100_000, parts=UsageParts(written_5m=100_000))
    heard = Usage(100_000, parts=UsageParts(audio_input=100_000))
    assert [rate.charge(each) * 10 for each in (written, heard)] == [
        375 * UNITS_PER_USD // 1000,
        6 * UNITS_PER_USD // 10,
    ]
    # Four thirds of it all, but for the output, which was typed.
    assert rate.charge(Usage(MILLION, 0, MILLION)) == 4 * UNITS_PER_USD // 100
    assert rate.charge(Usage(MILLION, parts=UsageParts(written_5m=MILLION))) == UNITS_PER_USD // 2
    more = rate.charge(Usage(MILLION, MILLION)) - rate.charge(Usage(MILLION))
    assert more == 35 * UNITS_PER_USD // 10
    assert usd_of_tiers(price) == {200_000: {"unit": "0.40", "cached": "0.04", "output": "3.50"}}


def test_a_price_that_is_none_any_more_leaves_the_rest() -> None:
    before = priced(listed(LISTED[1]))
    found = figures_in_usd(UsdPrices({"cached": "none"}), Kind.CHAT, before)
    assert (found.model, found.completion, found.cached) == (Decimal("0.15"), None, Decimal(1))
    assert found.parts.written_5m is UNSET


def test_a_multiplier_of_prices_that_do_not_divide_counts_in_input_tokens_as_any_other() -> None:
    before = priced(listed(LISTED[1]))
    dearer = rewritten(before, NewFigures(completion=Decimal(5)))
    assert usd_of(dearer, Kind.CHAT) == {"unit": "0.30", "cached": "0.03", "output": "1.50"}
    # They divide now.
    assert (dearer.model, dearer.completion, dearer.input) == (150_000, 5_000_000, MILLIONTHS)
    twice = rewritten(before, NewFigures(model=Decimal("0.3")))
    assert usd_of(twice, Kind.CHAT) == {"unit": "0.60", "cached": "0.06", "output": "5.00"}


def test_tiers_that_a_change_does_not_name_keep_their_prices_in_usd() -> None:
    before = priced(listed(("1.25", "0.125", "10")), {200_000: {"unit": "2.50", "output": "15"}})
    figures = figures_in_usd(UsdPrices({"unit": "0.30", "cached": "0.2", "output": "2.50"}), Kind.CHAT, before)
    after = rewritten(before, figures)
    assert usd_of(after, Kind.CHAT) == {"unit": "0.30", "cached": "0.20", "output": "2.50"}
    assert (
        usd_of_tiers(after) == usd_of_tiers(before) == {200_000: {"unit": "2.50", "cached": "0.25", "output": "15.00"}}
    )
