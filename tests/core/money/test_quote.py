import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.money.test_prices import GPT_4O, GPT_4O_MINI, a_rate, multipliers, rates
from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.prices import MILLIONTHS, Rate, Usage
from tollkeeper.core.money.quote import Ask, TokenCaps, expected, most_output_tokens, quote

ASK = Ask(input_units=1_000)
LIMITS = TokenCaps(max_output_tokens=16_384)
BOUNDLESS = TokenCaps(max_output_tokens=1 << 62)


@pytest.mark.parametrize(
    ("ask_change", "limits_change", "output_tokens"),
    [
        pytest.param({"max_output_tokens": 100}, {}, 100, id="what the caller allows"),
        pytest.param({"max_output_tokens": 8_000}, {}, 8_000, id="more than the default, if the caller allows it"),
        pytest.param({"max_output_tokens": 16_384}, {}, 16_384, id="all that the model can"),
        pytest.param({"max_output_tokens": 16_385}, {}, 16_384, id="never more than the model can"),
        pytest.param({"max_output_tokens": 0}, {}, 0, id="the caller allows none"),
        pytest.param({"max_output_tokens": 100, "n": 3}, {}, 300, id="for each of n answers"),
        pytest.param({"max_output_tokens": 99_999, "n": 2}, {}, 32_768, id="each of n is capped, not their sum"),
        pytest.param({}, {}, 4_096, id="the default"),
        pytest.param({"n": 2}, {}, 8_192, id="the default for each of n"),
        pytest.param({}, {"hold_output_tokens": 700}, 700, id="what the catalog expects"),
        pytest.param({}, {"max_output_tokens": 2_048}, 2_048, id="the default is capped too"),
        pytest.param({}, {"hidden_reasoning": True}, 16_384, id="all, for a model that thinks"),
        pytest.param({"n": 2}, {"hidden_reasoning": True}, 32_768, id="all, for each of n"),
        pytest.param(
            {"max_output_tokens": 100}, {"hidden_reasoning": True}, 100, id="the caller may bound the thoughts"
        ),
    ],
)
def test_a_hold_expects_the_input_and_this_output(
    ask_change: dict[str, object], limits_change: dict[str, object], output_tokens: int
) -> None:
    ask = msgspec.structs.replace(ASK, **ask_change)
    limits = msgspec.structs.replace(LIMITS, **limits_change)
    assert expected(ask, limits) == Usage(1_000, output_tokens)


@pytest.mark.parametrize(
    ("rate", "units"),
    [
        pytest.param(GPT_4O, 3_750_000_000, id="gpt-4o"),
        pytest.param(GPT_4O_MINI, 225_000_000, id="gpt-4o-mini"),
        pytest.param(a_rate(model="0.000001", group="0.0001"), 1, id="rounded up"),
        pytest.param(a_rate(cached="0"), 1_500_000_000, id="as if nothing were cached"),
        pytest.param(a_rate(model="0"), 0, id="nothing for a free model"),
    ],
)
def test_a_quote_is_the_price_of_what_is_expected(rate: Rate, units: int) -> None:
    ask = Ask(input_units=1_000, max_output_tokens=500)
    assert quote(ask, LIMITS, rate) == units


asks = st.builds(
    Ask,
    input_units=st.integers(0, 200_000),
    max_output_tokens=st.none() | st.integers(0, 40_000),
    n=st.integers(1, 8),
)
limits_of_models = st.builds(
    TokenCaps,
    max_output_tokens=st.integers(1, 32_768),
    hold_output_tokens=st.integers(0, 8_192),
    hidden_reasoning=st.booleans(),
)
at_any_price = rates(multipliers, multipliers)


@settings(max_examples=300, deadline=None)
@given(asks, limits_of_models, at_any_price, st.data())
def test_a_hold_covers_the_charge_of_any_usage_within_it(
    ask: Ask, limits: TokenCaps, rate: Rate, data: st.DataObject
) -> None:
    most = expected(ask, limits)
    input_tokens = data.draw(st.integers(0, most.input_units))
    output_tokens = data.draw(st.integers(0, most.output_units))
    cached_tokens = data.draw(st.integers(0, input_tokens))
    assert rate.charge(Usage(input_tokens, output_tokens, cached_tokens)) <= quote(ask, limits, rate)


@pytest.mark.parametrize(
    ("available", "ask", "most"),
    [
        pytest.param(1_000_000_000, Ask(input_units=400), 100, id="to the last unit"),
        pytest.param(999_999_999, Ask(input_units=400), 99, id="one unit short of one more"),
        pytest.param(1_000_000_000, Ask(input_units=400, n=3), 33, id="shared by n answers"),
        pytest.param(505_000_000, Ask(input_units=400), 1, id="just one"),
        pytest.param(504_999_999, Ask(input_units=400), None, id="not one"),
        pytest.param(505_000_000, Ask(input_units=400, n=2), None, id="one, but not for both answers"),
        pytest.param(499_999_999, Ask(input_units=400), None, id="not even the input"),
        pytest.param(0, Ask(input_units=0), None, id="nothing there"),
        pytest.param(-1, Ask(input_units=0), None, id="in debt"),
        pytest.param(1_000_000_000, Ask(input_units=400, max_output_tokens=7), 100, id="whatever the caller asked for"),
    ],
)
def test_the_most_output_that_gpt_4o_could_be_asked_for(available: int, ask: Ask, most: int | None) -> None:
    assert most_output_tokens(Quota(available), ask, GPT_4O) == most


# Dear enough that the search ends by price, far below its own bound of 2^40 tokens.
priced = rates(st.integers(MILLIONTHS // 1_000, 100 * MILLIONTHS), multipliers)


@settings(max_examples=300, deadline=None)
@given(asks, priced, st.integers(0, 200_000), st.integers(-2, 2) | st.integers(-(10**9), 10**9))
def test_the_most_output_tokens_fit_and_one_more_does_not(ask: Ask, rate: Rate, near: int, off: int) -> None:
    def held(output_tokens: int) -> int:
        return quote(msgspec.structs.replace(ask, max_output_tokens=output_tokens), BOUNDLESS, rate)

    available = Quota(held(near) + off)
    most = most_output_tokens(available, ask, rate)
    if most is None:
        assert held(1) > available
    else:
        assert most >= 1
        assert held(most) <= available < held(most + 1)


@pytest.mark.parametrize(
    ("rate", "available", "fits"),
    [
        pytest.param(a_rate(model="0"), 0, True, id="free model"),
        pytest.param(a_rate(model="0"), -1, False, id="free model, but in debt"),
        pytest.param(a_rate(completion="0"), 1_000_000_000, True, id="free output"),
        pytest.param(a_rate(completion="0"), 999_999_999, False, id="free output, but the input does not fit"),
    ],
)
def test_where_output_costs_nothing_any_of_it_fits_if_the_input_does(rate: Rate, available: int, fits: bool) -> None:
    most = most_output_tokens(Quota(available), ASK, rate)
    assert (most is not None) == fits
    assert most is None or most >= LIMITS.max_output_tokens
