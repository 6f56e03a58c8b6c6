"""The published book with parts in it; of models without parts it says nothing new."""

import json
from datetime import UTC, datetime
from typing import Any
from xml.etree import ElementTree

import pytest

from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.catalog.price_book import Announced, PriceBook, PricedModel
from tollkeeper.core.money.amounts import UNITS_PER_USD
from tollkeeper.core.money.parts import PriceParts, PriceTier
from tollkeeper.core.money.prices import MILLIONTHS, Price
from tollkeeper.edge.price_pages import as_atom, as_html, as_json

NOW = datetime(2026, 7, 1, tzinfo=UTC)
PARTS = PriceParts(
    written_5m=1_250_000,
    per_call=UNITS_PER_USD // 100,
    tools={"web_search": UNITS_PER_USD // 50},
    tiers=(PriceTier(above_tokens=200_000, model=3 * MILLIONTHS, completion=4 * MILLIONTHS),),
)
# As the multipliers stand there.
FIGURES = (
    "model 1.5, completion 5, cached 0.1; written for 5 minutes 1.25; each call 5000 quota tokens; "
    "each use of web_search 10000 quota tokens; above 200,000 input tokens model 3, completion 4"
)


def a_book(parts: PriceParts | None) -> PriceBook:
    price = Price(
        id=1, model_id="m", effective_from=NOW, model=1_500_000, completion=5_000_000, cached=100_000, parts=parts
    )
    model = PricedModel(id="m", kind=Kind.CHAT, rows=(Announced(price=price, announced_at=NOW),))
    return PriceBook((model,), 2 * MILLIONTHS)


def current(book: PriceBook) -> dict[str, Any]:
    [model] = json.loads(as_json(book, NOW, "owner"))["_models"]
    [row] = model["current"]
    found: dict[str, Any] = row
    return found


def test_programs_read_the_parts_as_figures_and_in_usd() -> None:
    row = current(a_book(PARTS))
    assert row["parts"] == {
        "written_5m_multiplier": "1.25",
        "quota_tokens_per_call": "5000",
        "quota_tokens_per_use": {"web_search": "10000"},
        "tiers": [{"above_input_tokens": 200_000, "model_multiplier": "3", "completion_multiplier": "4"}],
    }
    assert row["usd"]["million input tokens"] == "6.000"
    assert row["usd"]["call"] == "0.020"
    assert row["usd"]["million input tokens (above 200,000 input tokens)"] == "12.000"


def test_people_read_them_on_the_page_and_in_the_feeds() -> None:
    page = as_html(a_book(PARTS), NOW, "owner").decode()
    assert FIGURES in page
    assert "<th>USD</th><th>multipliers</th>" in page
    assert page.index("0.040 for a use of web_search") < page.index(FIGURES)
    assert "0.040 for a use of web_search" in page
    assert "12.000 for a million input tokens (above 200,000 input tokens)" in page
    assert "count by their own multipliers" in page
    [entry] = ElementTree.fromstring(as_atom(a_book(PARTS), NOW, "owner")).iter("{http://www.w3.org/2005/Atom}content")  # noqa: S314 (our own)
    assert "It costs 6.000 USD for a million input tokens" in (entry.text or "")
    assert (entry.text or "").endswith(f"Multipliers: {FIGURES}.")
    assert "7.500 USD for a million input tokens written to a cache for 5 minutes" in (entry.text or "")


@pytest.mark.parametrize("form", [as_html, as_json, as_atom], ids=["page", "json", "atom"])
def test_of_a_model_without_parts_nothing_new_is_said(form: Any) -> None:
    told = form(a_book(None), NOW, "owner").decode()
    for words in ("written", "call ", "above", "own multipliers", '"parts"'):
        assert words not in told.replace("A call ", "").replace("its own multiplier", ""), words
    assert "model 1.5, completion 5, cached 0.1" in told or form is as_json
