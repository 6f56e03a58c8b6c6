"""Forecasts: what a call costs lies between the least and the most that were told."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.money.test_charge import Read
from tests.core.money.test_prices import a_rate, any_rates
from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.charge import ChargeTerms, Ending, charge
from tollkeeper.core.money.forecast import forecast
from tollkeeper.core.money.parts import Part, PriceParts, UsageParts
from tollkeeper.core.money.prices import MILLIONTHS, Rate, Usage
from tollkeeper.core.money.quote import Ask, TokenCaps, with_slack

CAPS = TokenCaps(max_output_tokens=1_000, hold_output_tokens=200, context_tokens=8_000)
THINKING = msgspec.structs.replace(CAPS, hidden_reasoning=True)
RATE = a_rate(completion="4", cached="0.5")
SEARCH = 30_000_000


def with_parts(rate: Rate, parts: PriceParts | None) -> Rate:
    return Rate(msgspec.structs.replace(rate.price, parts=parts), rate.group)


def micro(tokens: int) -> Quota:
    return Quota(tokens * MILLIONTHS)


@pytest.mark.parametrize(
    ("ask", "caps", "most_output"),
    [
        (Ask(input_units=100, max_output_tokens=80), CAPS, with_slack(80)),
        (Ask(input_units=100, max_output_tokens=5_000), CAPS, with_slack(1_000)),
        (Ask(input_units=100), CAPS, with_slack(1_000)),
        (Ask(input_units=100, max_output_tokens=80), THINKING, with_slack(1_000)),
        (Ask(input_units=100, max_output_tokens=80, thinks=True, n=2), CAPS, with_slack(2_000)),
        (Ask(input_units=100, max_output_tokens=0), THINKING, 0),
    ],
    ids=["capped", "capped beyond the model", "no cap", "a model that thinks", "asked to think, twice", "no answer"],
)
def test_the_most_is_all_that_a_report_is_believed_of(ask: Ask, caps: TokenCaps, most_output: int) -> None:
    found = forecast(ask, caps, RATE)
    assert (found.most_output, found.most) == (most_output, micro(100 + 4 * most_output))


def test_a_cap_bounds_what_is_likely_of_a_model_that_thinks() -> None:
    found = forecast(Ask(input_units=100, max_output_tokens=80), THINKING, RATE)
    assert (found.likely_output, found.likely) == (80, micro(100 + 4 * 80))


def test_tools_that_are_used_in_any_case_are_in_all_figures_and_others_in_the_most() -> None:
    rate = with_parts(RATE, PriceParts(tools={"web_search": SEARCH, "code": SEARCH}))
    ask = Ask(input_units=100, max_output_tokens=80, tools={"web_search": 1}, may_use=frozenset({"code"}))
    found = forecast(ask, CAPS, rate)
    assert found.least == micro(50) + SEARCH
    assert found.likely == micro(100 + 4 * 80) + SEARCH
    assert found.most == micro(100 + 4 * with_slack(80)) + 2 * SEARCH


def test_images_that_an_order_makes_are_likely_at_their_own_price() -> None:
    rate = with_parts(RATE, PriceParts(image_output=8 * MILLIONTHS))
    ask = Ask(input_units=10, likely_output_tokens=300, n=2, parts=frozenset({Part.IMAGE_OUTPUT}))
    assert forecast(ask, CAPS, rate).likely == micro(10 + 8 * 600)
    # Of a chat that may have pictures in its answer, words are expected.
    chat = Ask(input_units=10, parts=frozenset({Part.IMAGE_OUTPUT}))
    assert forecast(chat, CAPS, rate).likely == micro(10 + 4 * 200)


weights = st.none() | st.integers(0, 40 * MILLIONTHS)
price_parts = st.builds(
    PriceParts,
    written_5m=weights,
    written_1h=weights,
    image_output=weights,
    per_call=st.integers(0, 10**9),
    tools=st.fixed_dictionaries({"web_search": st.integers(0, 10**9)}),
)
asks = st.builds(
    Ask,
    input_units=st.integers(1, 3_000),
    max_output_tokens=st.none() | st.integers(1, 1_500),
    n=st.integers(1, 3),
    thinks=st.booleans(),
    media_tokens=st.integers(0, 2_000),
    parts=st.frozensets(st.sampled_from([Part.WRITTEN_5M, Part.WRITTEN_1H, Part.IMAGE_OUTPUT])),
    tools=st.sampled_from([{}, {"web_search": 1}]),
    may_use=st.sampled_from([frozenset[str](), frozenset({"web_search"})]),
)


@st.composite
def reports_of(draw: st.DrawFn, ask: Ask) -> Usage:
    """What a provider may say of a call, whose input was counted well, and whose model says what it can."""

    def up_to(most: int) -> int:
        return draw(st.integers(0, most) | st.just(most))

    input_units, output_units = up_to(ask.input_units + ask.media_tokens), up_to(with_slack(1_000 * ask.n))
    counts = {"cached": up_to(input_units)}
    left = input_units - counts["cached"]
    for part in sorted(ask.parts & {Part.WRITTEN_5M, Part.WRITTEN_1H}):
        counts[part.value] = up_to(left)
        left -= counts[part.value]
    cached_units = counts.pop("cached")
    if Part.IMAGE_OUTPUT in ask.parts:
        counts[Part.IMAGE_OUTPUT.value] = up_to(output_units)
    tools = {tool: up_to(1) for tool in ask.uses_held}
    return Usage(input_units, output_units, cached_units, msgspec.convert({**counts, "tools": tools}, UsageParts))


@given(data=st.data(), ask=asks, rate=any_rates, parts=st.none() | price_parts, hidden_reasoning=st.booleans())
def test_nobody_is_charged_more_than_the_most(
    data: st.DataObject, ask: Ask, rate: Rate, parts: PriceParts | None, hidden_reasoning: bool
) -> None:
    caps = msgspec.structs.replace(CAPS, hidden_reasoning=hidden_reasoning)
    rate = with_parts(rate, parts)
    found = forecast(ask, caps, rate)
    asked = min(ask.max_output_tokens or caps.max_output_tokens, caps.max_output_tokens)
    counted = data.draw(st.integers(0, with_slack(asked * ask.n)))
    readings = Read(reported=data.draw(reports_of(ask)), output_tokens=counted)
    terms, is_whole = ChargeTerms(ask, caps, rate), data.draw(st.booleans())
    due = charge(Ending.COMPLETED, terms, readings, complete=is_whole, covered_tokens=counted, held=found.held)
    assert due.amount <= found.most
    assert found.least <= found.likely <= found.most
    assert found.held <= found.most
