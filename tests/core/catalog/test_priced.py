"""What parts of a price cost, as the published book tells it."""

from datetime import UTC, datetime

import msgspec
import pytest

from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.catalog.price_book import Tag, tags
from tollkeeper.core.catalog.priced import PricedItem, beyond_plain, cost
from tollkeeper.core.money.amounts import UNITS_PER_USD
from tollkeeper.core.money.parts import Part, PriceParts, PriceTier
from tollkeeper.core.money.prices import MILLIONTHS, Price

CENT = UNITS_PER_USD // 100
PLAIN = ["million input tokens", "million cached input tokens", "million output tokens"]


def a_price(parts: PriceParts | None, *, model: int = 1_500_000) -> Price:
    at = datetime(2026, 7, 1, tzinfo=UTC)
    return Price(
        id=1, model_id="m", effective_from=at, model=model, completion=5 * MILLIONTHS, cached=100_000, parts=parts
    )


def told(parts: PriceParts | None, group: int = MILLIONTHS, kind: Kind = Kind.CHAT) -> dict[str, str]:
    return {tag.what: tag.usd for tag in tags(kind, a_price(parts), group)}


@pytest.mark.parametrize("parts", [None, PriceParts()], ids=["no parts", "none set"])
def test_a_price_without_parts_reads_as_it_did(parts: PriceParts | None) -> None:
    assert told(parts) == dict(zip(PLAIN, ["3.000", "0.300", "15.000"], strict=True))


@pytest.mark.parametrize(
    ("part", "what", "usd"),
    [
        (Part.WRITTEN_5M, "million input tokens written to a cache for 5 minutes", "6.000"),
        (Part.WRITTEN_1H, "million input tokens written to a cache for an hour", "6.000"),
        (Part.IMAGE_INPUT, "million image input tokens", "6.000"),
        (Part.AUDIO_INPUT, "million audio input tokens", "6.000"),
        (Part.IMAGE_OUTPUT, "million image output tokens", "6.000"),
        (Part.AUDIO_OUTPUT, "million audio output tokens", "6.000"),
    ],
)
def test_each_part_that_is_set_is_told_by_the_million(part: Part, what: str, usd: str) -> None:
    found = told(msgspec.convert({part.value: 2 * MILLIONTHS}, PriceParts))
    assert list(found) == [*PLAIN, what]
    assert found[what] == usd


def test_calls_and_uses_are_told_by_the_one_and_are_in_nothing_else() -> None:
    found = told(PriceParts(per_call=CENT, tools={"web_search": 2 * CENT, "free": 0}), group=800_000)
    assert found == dict(zip(PLAIN, ["2.400", "0.240", "12.000"], strict=True)) | {
        "call": "0.008",
        "use of web_search": "0.016",
        "use of free": "0.000",
    }


def test_a_tier_is_told_with_all_that_it_makes_dearer_and_changes_nothing_below_it() -> None:
    tier = PriceTier(above_tokens=200_000, model=3 * MILLIONTHS, completion=4 * MILLIONTHS)
    found = told(PriceParts(written_5m=1_250_000, per_call=CENT, tiers=(tier,)))
    assert found == dict(zip(PLAIN, ["3.000", "0.300", "15.000"], strict=True)) | {
        "million input tokens written to a cache for 5 minutes": "3.750",
        "call": "0.010",
        "million input tokens (above 200,000 input tokens)": "6.000",
        "million cached input tokens (above 200,000 input tokens)": "0.600",
        "million output tokens (above 200,000 input tokens)": "24.000",
        "million input tokens written to a cache for 5 minutes (above 200,000 input tokens)": "7.500",
    }


def test_an_image_that_costs_by_the_call_too_is_told_without_it() -> None:
    by_token = a_price(PriceParts(per_call=CENT), model=20_000 * MILLIONTHS)
    assert list(tags(Kind.IMAGE, msgspec.structs.replace(by_token, variant="1024x1024"), MILLIONTHS)) == [
        Tag("image", "0.040"),
        Tag("call", "0.010"),
    ]


def test_what_is_not_set_costs_what_the_formula_falls_back_to() -> None:
    price = a_price(PriceParts(written_5m=1_250_000))
    assert cost(PricedItem("written_1h"), price, MILLIONTHS) == cost(PricedItem("input"), price, MILLIONTHS)
    assert cost(PricedItem("audio_output"), price, MILLIONTHS) == cost(PricedItem("output"), price, MILLIONTHS)
    assert cost(PricedItem("web_search", is_tool=True), price, MILLIONTHS) == 0
    assert cost(PricedItem("call"), price, MILLIONTHS) == 0
    assert cost(PricedItem("input", above_tokens=9), price, MILLIONTHS) == 3 * UNITS_PER_USD
    assert list(beyond_plain(price)) == [PricedItem("written_5m")]
