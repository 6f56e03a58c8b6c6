"""Parts of a price: by hand, and against the formula written once more in fractions."""

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.money.test_prices import HALF, NOW, a_rate, any_rates, counts, multipliers, usages
from tollkeeper.core.money.amounts import UNITS_PER_QUOTA_TOKEN, quota_from_usd
from tollkeeper.core.money.charge import plausible
from tollkeeper.core.money.parts import NO_PARTS, OF_INPUT, OF_OUTPUT, Part, PriceParts, PriceTier, UsageParts
from tollkeeper.core.money.prices import MILLIONTHS, Price, Rate, Term, Usage, millionths
from tollkeeper.core.money.quote import Ask, TokenCaps, expected, quote

CENT = quota_from_usd(Decimal("0.01"))
LONG = 200_000


def times(multiplier: str) -> int:
    return millionths(Decimal(multiplier))


def with_parts(rate: Rate, parts: PriceParts) -> Rate:
    return Rate(msgspec.structs.replace(rate.price, parts=parts), rate.group)


# 3 USD for a million input tokens.
CLAUDE = with_parts(
    a_rate(model="1.5", completion="5", cached="0.1"), PriceParts(written_5m=times("1.25"), written_1h=times("2"))
)
# 1.25 USD, and 2.50 USD for long inputs, whose output costs half as much again.
GEMINI = with_parts(
    a_rate(model="0.625", completion="8", cached="0.1"),
    PriceParts(tiers=(PriceTier(above_tokens=LONG, model=times("1.25"), completion=times("6")),)),
)
MEDIA = with_parts(
    a_rate(model="1.25", completion="4"),
    PriceParts(image_input=times("2"), audio_input=times("16"), image_output=times("8"), audio_output=times("32")),
)
SEARCHES = with_parts(a_rate(), PriceParts(per_call=CENT, tools={"web_search": 2 * CENT, "code_execution": 0}))


def in_group(rate: Rate, group: str) -> Rate:
    return Rate(rate.price, times(group))


@pytest.mark.parametrize(
    ("rate", "usage", "quota_tokens"),
    [
        # 300 + 400 × 0.1 + 200 × 1.25 + 100 × 2 + 50 × 5 = 1,040
        pytest.param(
            CLAUDE,
            Usage(1_000, 50, 400, UsageParts(written_5m=200, written_1h=100)),
            "1560",
            id="read, and written for both times",
        ),
        pytest.param(CLAUDE, Usage(1_000, 0, 0, UsageParts(written_5m=1_000)), "1875", id="5 minutes"),
        pytest.param(CLAUDE, Usage(1_000, 0, 0, UsageParts(written_1h=1_000)), "3000", id="an hour"),
        pytest.param(GEMINI, Usage(LONG, 1_000), "130000", id="as long as a tier, and not longer"),
        pytest.param(GEMINI, Usage(LONG + 1, 1_000), "257501.25", id="a token longer"),
        # 1.25 × (1 + 200,000 × 0.1 + 1,000 × 6)
        pytest.param(GEMINI, Usage(LONG + 1, 1_000, LONG), "32501.25", id="what is cached makes an input long too"),
        # 1.25 × (40 + 10 × 2 + 50 × 16 + 5 × 4 + 10 × 8 + 5 × 32) = 1.25 × 1,120
        pytest.param(
            MEDIA,
            Usage(100, 20, 0, UsageParts(image_input=10, audio_input=50, image_output=10, audio_output=5)),
            "1400",
            id="images and sound",
        ),
        pytest.param(SEARCHES, Usage(100, 10), "5110", id="each call"),
        pytest.param(SEARCHES, Usage(0), "5000", id="each call, also without tokens"),
        pytest.param(SEARCHES, Usage(0, parts=UsageParts(tools={"web_search": 3})), "35000", id="three searches"),
        pytest.param(SEARCHES, Usage(0, parts=UsageParts(tools={"code_execution": 3})), "5000", id="a free tool"),
        pytest.param(SEARCHES, Usage(0, parts=UsageParts(tools={"other": 3})), "5000", id="a tool without a price"),
        pytest.param(
            in_group(SEARCHES, "0.8"), Usage(100, parts=UsageParts(tools={"web_search": 1})), "12080", id="a group"
        ),
        pytest.param(in_group(CLAUDE, "2"), Usage(8, 0, 0, UsageParts(written_5m=8)), "30", id="a dear group"),
        pytest.param(in_group(SEARCHES, "0"), Usage(9), "0", id="a group that pays nothing"),
    ],
)
def test_parts_cost_what_was_worked_out_by_hand(rate: Rate, usage: Usage, quota_tokens: str) -> None:
    assert rate.charge(usage) == rate.ceiling(usage) == Decimal(quota_tokens) * UNITS_PER_QUOTA_TOKEN


@pytest.mark.parametrize(
    ("parts", "plain"),
    [
        *((msgspec.convert({part.value: 7}, UsageParts), Usage(100, 50)) for part in (*OF_INPUT, *OF_OUTPUT)),
        (UsageParts(tools={"web_search": 3}), Usage(100, 50)),
    ],
    ids=[*OF_INPUT, *OF_OUTPUT, "tool"],
)
@pytest.mark.parametrize(
    "set_parts", [None, PriceParts(), PriceParts(tools={"other": 5})], ids=["none", "empty", "else"]
)
def test_what_is_not_set_costs_what_it_would_be_without_it(
    parts: UsageParts, plain: Usage, set_parts: PriceParts | None
) -> None:
    rate = a_rate(model="1.25", completion="4", cached="0.5")
    rate = rate if set_parts is None else with_parts(rate, set_parts)
    assert rate.exact(msgspec.structs.replace(plain, parts=parts)) == rate.exact(plain)


def test_a_tier_changes_what_it_names_and_the_highest_that_is_passed_holds() -> None:
    tiers = (
        PriceTier(above_tokens=10, model=times("2")),
        PriceTier(above_tokens=20, model=times("3"), completion=times("5"), cached=times("0.5")),
    )
    price = with_parts(a_rate(model="1", completion="4", cached="0.1"), PriceParts(tiers=tiers)).price
    held = [price.for_input(units) for units in (10, 11, 20, 21)]
    assert [(each.model, each.completion, each.cached) for each in held] == [
        (times("1"), times("4"), times("0.1")),
        (times("2"), times("4"), times("0.1")),
        (times("2"), times("4"), times("0.1")),
        (times("3"), times("5"), times("0.5")),
    ]


def test_a_part_keeps_its_multiplier_in_a_tier_and_counts_by_the_input_price_of_the_tier() -> None:
    tiers = (PriceTier(above_tokens=10, model=times("2"), completion=times("3")),)
    rate = with_parts(a_rate(completion="4"), PriceParts(written_5m=times("1.25"), tiers=tiers))
    # 2 × (12 × 1.25 + 5 × 3): images that are made cost what output does there.
    usage = Usage(12, 5, 0, UsageParts(written_5m=12, image_output=5))
    assert rate.charge(usage) == 60 * UNITS_PER_QUOTA_TOKEN


def test_lines_of_a_receipt_are_those_that_there_was_any_of() -> None:
    assert list(CLAUDE.terms(Usage(10, 2))) == [Term("input", 10, MILLIONTHS), Term("output", 2, times("5"))]
    usage = Usage(100, 20, 30, UsageParts(written_1h=40, audio_output=5, tools={"web_search": 2}))
    assert list(SEARCHES.terms(usage)) == [
        Term("input", 30, MILLIONTHS),
        Term("cached", 30, MILLIONTHS),
        Term("written_1h", 40, MILLIONTHS),
        Term("output", 15, MILLIONTHS),
        Term("audio_output", 5, MILLIONTHS),
        Term("call", 1, amount=CENT),
        Term("web_search", 2, amount=2 * CENT),
    ]


# In general ---------------------------------------------------------------------------------------------------------
amounts = st.sampled_from([0, 1, CENT]) | st.integers(0, 10**13)
uses = st.dictionaries(st.sampled_from(["web_search", "code", "other"]), st.integers(0, 1_000))


@st.composite
def parts_of_usages(draw: st.DrawFn) -> Usage:
    inputs, outputs = ({part.value: draw(counts) for part in each} for each in (OF_INPUT, OF_OUTPUT))
    plain, cached, output = draw(counts), draw(counts), draw(counts)
    parts = msgspec.convert({**inputs, **outputs, "tools": draw(uses)}, UsageParts)
    return Usage(plain + cached + sum(inputs.values()), output + sum(outputs.values()), cached, parts)


@st.composite
def tiers(draw: st.DrawFn) -> tuple[PriceTier, ...]:
    lengths = sorted(draw(st.sets(st.integers(1, 50) | st.integers(1, 9_000_000), max_size=3)))
    maybe = st.none() | multipliers
    return tuple(
        PriceTier(above_tokens=length, model=draw(multipliers), completion=draw(maybe), cached=draw(maybe))
        for length in lengths
    )


price_parts = st.builds(
    PriceParts,
    **{part.value: st.none() | multipliers for part in Part},
    per_call=amounts,
    tools=st.dictionaries(st.sampled_from(["web_search", "code"]), amounts),
    tiers=tiers(),
)


def reference(rate: Rate, usage: Usage) -> Fraction:
    """In micro-quota, straight from the words of the decision."""
    price, parts, used = rate.price, rate.price.parts or PriceParts(), usage.parts or NO_PARTS
    figures: dict[str, int] = {"model": price.model, "completion": price.completion, "cached": price.cached}
    for tier in parts.tiers:
        if usage.input_units > tier.above_tokens:
            own = {"model": tier.model, "completion": tier.completion, "cached": tier.cached}
            row = {"model": price.model, "completion": price.completion, "cached": price.cached}
            figures = {name: row[name] if figure is None else figure for name, figure in own.items()}
    model, completion, cached = (Fraction(figures[name], MILLIONTHS) for name in ("model", "completion", "cached"))
    tokens = usage.cached_units * cached
    plain_input, plain_output = usage.input_units - usage.cached_units, usage.output_units
    for part in Part:
        units, own_weight = getattr(used, part), getattr(parts, part)
        usual = Fraction(1) if part in OF_INPUT else completion
        tokens += units * (usual if own_weight is None else Fraction(own_weight, MILLIONTHS))
        plain_input -= units if part in OF_INPUT else 0
        plain_output -= units if part in OF_OUTPUT else 0
    tokens += plain_input + plain_output * completion
    added = parts.per_call + sum(times * parts.tools.get(tool, 0) for tool, times in used.tools.items())
    return Fraction(rate.group, MILLIONTHS) * (model * tokens * UNITS_PER_QUOTA_TOKEN + added)


@settings(max_examples=1_000, deadline=None)
@given(any_rates, price_parts, parts_of_usages())
def test_a_charge_with_parts_is_the_nearest_unit_to_the_formula(rate: Rate, parts: PriceParts, usage: Usage) -> None:
    rate = with_parts(rate, parts)
    cost = reference(rate, usage)
    assert -HALF < rate.charge(usage) - cost <= HALF
    assert 0 <= rate.ceiling(usage) - cost < 1


@settings(max_examples=500, deadline=None)
@given(any_rates, price_parts, parts_of_usages())
def test_the_lines_of_a_receipt_add_up_to_the_charge(rate: Rate, parts: PriceParts, usage: Usage) -> None:
    rate = with_parts(rate, parts)
    model = Fraction(rate.price.for_input(usage.input_units).model, MILLIONTHS)
    lines = [
        term.units * (model * Fraction(term.weight, MILLIONTHS) * UNITS_PER_QUOTA_TOKEN + term.amount)
        for term in rate.terms(usage)
    ]
    assert Fraction(rate.group, MILLIONTHS) * sum(lines) == reference(rate, usage)


@settings(max_examples=500, deadline=None)
@given(any_rates, usages, parts_of_usages())
def test_without_parts_the_formula_is_what_it_was(rate: Rate, usage: Usage, in_parts: Usage) -> None:
    price = rate.price
    for each in (usage, in_parts):
        fresh = each.input_units - each.cached_units
        weighted = fresh * MILLIONTHS + each.cached_units * price.cached + each.output_units * price.completion
        assert rate.exact(each) == with_parts(rate, PriceParts()).exact(each) == rate.group * price.model * weighted


# Holds ---------------------------------------------------------------------------------------------------------
@st.composite
def rising_tiers(draw: st.DrawFn, price: Price) -> tuple[PriceTier, ...]:
    """As the price book takes them: no token costs less in a longer call."""
    found, model, completion, cached = [], price.model, price.completion, price.cached
    more = st.integers(0, 3 * MILLIONTHS)
    for length in sorted(draw(st.sets(st.integers(1, 300_000), max_size=3))):
        model, completion, cached = model + draw(more), completion + draw(more), cached + draw(more)
        found.append(PriceTier(above_tokens=length, model=model, completion=completion, cached=cached))
    return tuple(found)


@settings(max_examples=500, deadline=None)
@given(any_rates, price_parts, st.sets(st.sampled_from(list(Part))), st.booleans(), st.data())
def test_a_hold_covers_any_usage_of_the_parts_that_may_come(
    rate: Rate, parts: PriceParts, may_come: set[Part], has_media: bool, data: st.DataObject
) -> None:
    parts = msgspec.structs.replace(parts, tiers=data.draw(rising_tiers(rate.price)))
    rate = with_parts(rate, parts)
    ask = Ask(
        input_units=data.draw(st.integers(0, 300_000)),
        max_output_tokens=data.draw(st.integers(0, 9_000)),
        parts=frozenset(may_come),
        has_media=has_media,
    )
    most = expected(ask, TokenCaps())
    if has_media:
        may_come = may_come | {Part.IMAGE_INPUT, Part.AUDIO_INPUT}
    input_units, output_units = (data.draw(st.integers(0, units)) for units in (most.input_units, most.output_units))
    of_input = shared(data, input_units, [part for part in OF_INPUT if part in may_come], "cached")
    of_output = shared(data, output_units, [part for part in OF_OUTPUT if part in may_come])
    cached = of_input.pop("cached")
    usage = Usage(input_units, output_units, cached, msgspec.convert({**of_input, **of_output}, UsageParts))
    assert rate.charge(usage) <= quote(ask, TokenCaps(), rate)


def shared(data: st.DataObject, units: int, *kinds: list[Part] | str) -> dict[str, int]:
    """So many units, given to these kinds; what is left over is plain."""
    found = {}
    for kind in (name for each in kinds for name in ([each] if isinstance(each, str) else each)):
        found[str(kind)] = data.draw(st.integers(0, units))
        units -= found[str(kind)]
    return found


# Reports ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("usage", "believed"),
    [
        pytest.param(Usage(10, 5, 3, UsageParts(written_5m=4, written_1h=3)), True, id="all of the input is something"),
        pytest.param(Usage(10, 5, 3, UsageParts(written_5m=4, written_1h=4)), False, id="more parts than input"),
        pytest.param(Usage(10, 5, 0, UsageParts(audio_output=5)), True, id="all of the output"),
        pytest.param(Usage(10, 5, 0, UsageParts(audio_output=3, image_output=3)), False, id="more than output"),
        pytest.param(Usage(10, 5, 0, UsageParts(written_5m=-1)), False, id="less than none"),
        pytest.param(Usage(10, 5, 0, UsageParts(written_5m=-1, written_1h=1)), False, id="less than none, made up for"),
        pytest.param(Usage(10, 5, 0, UsageParts(tools={"web_search": 1_000})), True, id="many uses"),
        pytest.param(Usage(10, 5, 0, UsageParts(tools={"web_search": 1_001})), True, id="more uses than are charged"),
        pytest.param(Usage(10, 5, 0, UsageParts(tools={"web_search": -1})), False, id="a use taken back"),
    ],
)
def test_a_report_of_parts_is_believed_where_it_can_be_true(usage: Usage, believed: bool) -> None:
    assert plausible(usage, 1_000) is believed


@pytest.mark.parametrize(
    ("parts", "rest"),
    [
        (UsageParts(image_output=3), None),
        (UsageParts(image_output=3, written_5m=4), UsageParts(written_5m=4)),
        (UsageParts(tools={"web_search": 1}, audio_output=1), UsageParts(tools={"web_search": 1})),
    ],
    ids=["nothing is left", "the input is", "tools are"],
)
def test_of_an_output_that_was_counted_no_part_is_known(parts: UsageParts, rest: UsageParts | None) -> None:
    assert parts.without_output() == rest


# Forms ---------------------------------------------------------------------------------------------------------
def test_prices_with_parts_can_be_told_apart_by_their_number() -> None:
    def row(number: int, parts: PriceParts | None) -> Price:
        return Price(id=number, model_id="m", effective_from=NOW, model=1, completion=1, cached=1, parts=parts)

    with_tools = row(1, PriceParts(tools={"web_search": 1}))
    assert {with_tools, row(1, PriceParts(tools={"web_search": 1})), row(2, None)} == {with_tools, row(2, None)}
    assert with_tools != row(1, None)


@given(price_parts)
def test_parts_are_the_same_after_the_book_has_kept_them(parts: PriceParts) -> None:
    kept: Mapping[str, object] = msgspec.json.decode(msgspec.json.encode(parts))
    assert msgspec.convert(kept, PriceParts) == parts
    assert None not in kept.values()
