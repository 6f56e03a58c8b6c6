"""Prices in USD: turned into multipliers exactly, or refused with the nearest that are exact."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tollkeeper.accounts.price_parts import PriceRefused
from tollkeeper.accounts.price_usd import UsdPrices, figures_in_usd, unit_multiplier, usd_of
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.money.parts import PriceParts
from tollkeeper.core.money.prices import MILLIONTHS, Price

BEFORE = Price(
    id=1,
    model_id="m",
    effective_from=datetime(2026, 1, 1, tzinfo=UTC),
    model=1_250_000,
    completion=4_000_000,
    cached=100_000,
    parts=PriceParts(written_5m=1_250_000),
)


@pytest.mark.parametrize(
    ("usd", "unit", "multiplier"),
    [
        ("2.50", Kind.CHAT, "1.25"),
        ("0.02", Kind.EMBEDDING, "0.01"),
        ("0.04", Kind.IMAGE, "20000"),
        ("15", Kind.SPEECH, "7.5"),
        ("0.006", Kind.TRANSCRIPTION, "50"),
        ("0", Kind.CHAT, "0"),
    ],
    ids=str,
)
def test_usd_become_multipliers_by_what_the_model_is_counted_in(usd: str, unit: Kind, multiplier: str) -> None:
    assert unit_multiplier(Decimal(usd), unit) == Decimal(multiplier)


def test_what_is_not_named_keeps_its_price_in_usd() -> None:
    found = figures_in_usd(UsdPrices({"unit": "5"}), Kind.CHAT, BEFORE)
    assert (found.model, found.completion, found.cached) == (Decimal("2.5"), Decimal(2), Decimal("0.05"))
    assert found.parts.written_5m == Decimal("0.625")


def test_cached_input_without_a_price_of_its_own_goes_with_the_input() -> None:
    found = figures_in_usd(
        UsdPrices({"unit": "3", "output": "12"}), Kind.CHAT, replace(BEFORE, cached=MILLIONTHS, parts=None)
    )
    assert (found.completion, found.cached) == (Decimal(4), None)


def test_a_price_of_its_own_can_be_taken_away() -> None:
    found = figures_in_usd(UsdPrices({"cached": "none", "written_5m": "none"}), Kind.CHAT, BEFORE)
    assert (found.model, found.cached, found.parts.written_5m) == (Decimal("1.25"), Decimal(1), None)
    with pytest.raises(PriceRefused, match="not a price in USD"):
        figures_in_usd(UsdPrices({"unit": "none"}), Kind.CHAT, BEFORE)


def test_where_input_stays_only_what_is_named_is_another() -> None:
    found = figures_in_usd(UsdPrices({"output": "20"}), Kind.CHAT, BEFORE)
    assert (found.model, found.completion, found.cached) == (Decimal("1.25"), Decimal(8), None)


@pytest.mark.parametrize(
    ("usd", "unit", "words"),
    [
        ({"unit": "0.0000001"}, Kind.CHAT, "would have to be rounded"),
        ({"unit": "0.0001"}, Kind.TRANSCRIPTION, "Exact are 0.00009999996 and 0.00010000008 USD"),
        ({"unit": "0", "output": "1"}, Kind.CHAT, "Input is free"),
        ({"unit": "1", "output": "1"}, Kind.IMAGE, "one price, for an image"),
        ({"output": "1"}, Kind.CHAT, "Say what a million input tokens costs"),
        ({"unit": "1e3"}, Kind.CHAT, "not a price in USD"),
        ({"unit": "-1"}, Kind.CHAT, "not a price in USD"),
        ({"unit": "999999999"}, Kind.CHAT, "not a multiplier"),
    ],
    ids=str,
)
def test_what_the_book_cannot_hold_exactly_is_refused(usd: dict[str, str], unit: Kind, words: str) -> None:
    with pytest.raises(PriceRefused, match=words):
        figures_in_usd(UsdPrices(usd), unit, None)


@given(
    model=st.integers(1, 10**10),
    completion=st.integers(0, 10**8),
    cached=st.integers(0, 10**7),
    unit=st.sampled_from([Kind.CHAT, Kind.SPEECH, Kind.TRANSCRIPTION, Kind.IMAGE]),
)
def test_every_price_of_the_book_can_be_typed_and_is_the_same_then(
    model: int, completion: int, cached: int, unit: Kind
) -> None:
    price = Price(
        id=1, model_id="m", effective_from=BEFORE.effective_from, model=model, completion=completion, cached=cached
    )
    found = figures_in_usd(UsdPrices(usd_of(price, unit)), unit, None)
    assert found.model == Decimal(model) / MILLIONTHS
    if unit is Kind.CHAT:
        read = Decimal(1) if found.cached is None else found.cached
        assert (found.completion, read) == (Decimal(completion) / MILLIONTHS, Decimal(cached) / MILLIONTHS)
