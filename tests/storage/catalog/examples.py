"""Prices and usage with every part, and strategies for any others."""

from datetime import UTC, datetime

from hypothesis import strategies as st

from tollkeeper.core.money.parts import OF_INPUT, OF_OUTPUT, WEIGHTS, PriceParts, PriceTier, UsageParts
from tollkeeper.core.money.prices import Price, Rate, Usage

PRICE_PARTS = PriceParts(
    written_5m=1_250_000,
    written_1h=2_000_000,
    image_input=1_600_000,
    audio_input=5_333_333,
    image_output=8_000_000,
    audio_output=12_345_678,
    per_call=777_777,
    tools={"web_search": 5_000_000_000, "code": 1},
    tiers=(
        PriceTier(above_tokens=2_000, model=2_500_000, completion=3_000_000),
        PriceTier(above_tokens=200_000, model=3_333_333, cached=250_000),
    ),
)
USAGE_PARTS = UsageParts(
    written_5m=11, written_1h=222, image_input=3, audio_input=44, image_output=5, audio_output=6, tools={"code": 2}
)
IN_PARTS = Usage(3_000, 400, 100, USAGE_PARTS)

TOKENS = st.integers(0, 2_000) | st.integers(0, 10**9)
# Up to the largest that a price book takes.
MULTIPLIERS = st.sampled_from([0, 1, 1_000_000, 1_250_000, 333_333]) | st.integers(0, 10**14 - 1)
TOOLS = st.sampled_from(["web_search", "code", 'a tool\'s "name"'])


def _weights(draw: st.DrawFn) -> dict[str, int | None]:
    return {name: draw(st.none() | MULTIPLIERS) for name in WEIGHTS}


@st.composite
def price_parts(draw: st.DrawFn) -> PriceParts:
    own = _weights(draw)
    lengths = sorted(draw(st.sets(TOKENS, max_size=3)))
    tiers = tuple(
        PriceTier(
            above_tokens=above,
            model=draw(MULTIPLIERS),
            completion=draw(st.none() | MULTIPLIERS),
            cached=draw(st.none() | MULTIPLIERS),
            **_weights(draw),
        )
        for above in lengths
    )
    tools = draw(st.dictionaries(TOOLS, st.integers(0, 10**12), max_size=2))
    return PriceParts(**own, per_call=draw(st.integers(0, 10**12)), tools=tools, tiers=tiers)


@st.composite
def rates(draw: st.DrawFn) -> Rate:
    price = Price(
        id=1,
        model_id="m",
        effective_from=datetime(2026, 1, 1, tzinfo=UTC),
        model=draw(MULTIPLIERS),
        completion=draw(MULTIPLIERS),
        cached=draw(MULTIPLIERS),
        parts=draw(st.none() | price_parts()),
    )
    return Rate(price, draw(MULTIPLIERS))


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    fresh, cached, output = draw(TOKENS), draw(TOKENS), draw(TOKENS)
    if draw(st.booleans()):
        return Usage(fresh + cached, output, cached)
    counts = {part.value: draw(st.just(0) | TOKENS) for part in (*OF_INPUT, *OF_OUTPUT)}
    tools = draw(st.dictionaries(TOOLS, st.integers(0, 1_000), max_size=3))
    parts = UsageParts(**counts, tools=tools)
    return Usage(fresh + cached + parts.input_units, output + parts.output_units, cached, parts)
