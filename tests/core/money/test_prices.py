import random
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tollkeeper.core.money.amounts import UNITS_PER_QUOTA_TOKEN, quota_from_usd
from tollkeeper.core.money.prices import MILLIONTHS, Price, Rate, Usage, in_force, millionths

NOW = datetime(2026, 7, 1, tzinfo=UTC)
HALF = Fraction(1, 2)


def a_rate(*, model: str = "1", completion: str = "1", cached: str = "1", group: str = "1") -> Rate:
    model_, completion_, cached_, group_ = (millionths(Decimal(text)) for text in (model, completion, cached, group))
    price = Price(id=1, model_id="m", effective_from=NOW, model=model_, completion=completion_, cached=cached_)
    return Rate(price, group_)


GPT_4O = a_rate(model="1.25", completion="4")
GPT_4O_MINI = a_rate(model="0.075", completion="4")

# The named ones meet often enough to make ties and zeros common.
multipliers = st.sampled_from([0, 1, 75_000, 500_000, MILLIONTHS, 4 * MILLIONTHS]) | st.integers(0, 100 * MILLIONTHS)
counts = st.integers(0, 9) | st.integers(0, 2_000_000)


def rates(each: st.SearchStrategy[int], cached: st.SearchStrategy[int]) -> st.SearchStrategy[Rate]:
    """Rates with these multipliers; those of cached input are drawn on their own."""
    row = {"id": st.just(1), "model_id": st.just("m"), "effective_from": st.just(NOW)}
    return st.builds(Rate, st.builds(Price, **row, model=each, completion=each, cached=cached), each)


def of_kinds(fresh: int, cached: int, output: int) -> Usage:
    return Usage(fresh + cached, output, cached)


any_rates = rates(multipliers, multipliers)
usages = st.builds(of_kinds, counts, counts, counts)


def exact(rate: Rate, usage: Usage) -> Fraction:
    """The specification's formula in true fractions, in micro-quota."""
    group, model, completion, cached = (
        Fraction(multiplier, 1_000_000)
        for multiplier in (rate.group, rate.price.model, rate.price.completion, rate.price.cached)
    )
    fresh_tokens = usage.input_units - usage.cached_units
    weighted = fresh_tokens + usage.cached_units * cached + usage.output_units * completion
    return group * model * weighted * 1_000_000


@pytest.mark.rule("S7.1")
@pytest.mark.parametrize(
    ("rate", "usage", "quota_tokens"),
    [
        pytest.param(GPT_4O, Usage(1_000, 500), "3750", id="gpt-4o"),
        pytest.param(GPT_4O, Usage(1), "1.25", id="gpt-4o, one token in"),
        pytest.param(GPT_4O, Usage(0, 1), "5", id="gpt-4o, one token out"),
        pytest.param(GPT_4O_MINI, Usage(1_000, 500), "225", id="gpt-4o-mini"),
        pytest.param(GPT_4O_MINI, Usage(1, 1), "0.375", id="gpt-4o-mini, one token each way"),
        pytest.param(GPT_4O, Usage(1_000, 100, 400), "1750", id="cached input costs the same by default"),
        pytest.param(
            a_rate(model="1.25", completion="4", cached="0.5"), Usage(1_000, 100, 400), "1500", id="cached at half"
        ),
        pytest.param(a_rate(model="1.25", cached="0"), Usage(1_000, 0, 1_000), "0", id="cached for nothing"),
        pytest.param(a_rate(model="1.25", completion="4", group="0.8"), Usage(1_000, 500), "3000", id="cheaper group"),
        pytest.param(a_rate(model="1.25", completion="4", group="2"), Usage(1_000, 500), "7500", id="dearer group"),
        pytest.param(
            a_rate(model="0.075", completion="4", cached="0.25", group="1.5"),
            Usage(1_000, 10, 800),
            "49.5",
            id="all multipliers at once",
        ),
        pytest.param(a_rate(model="0", completion="4"), Usage(1_000, 500), "0", id="free model"),
        pytest.param(a_rate(model="1.25", completion="4", group="0"), Usage(1_000, 500), "0", id="free group"),
        pytest.param(a_rate(model="1.25", completion="0"), Usage(1_000, 500), "1250", id="free output"),
        pytest.param(GPT_4O, Usage(0), "0", id="nothing used"),
    ],
)
def test_a_call_costs_what_the_formula_says(rate: Rate, usage: Usage, quota_tokens: str) -> None:
    units = Decimal(quota_tokens) * UNITS_PER_QUOTA_TOKEN
    assert rate.charge(usage) == rate.ceiling(usage) == units


@pytest.mark.rule("S6.1")
def test_one_usd_pays_for_exactly_500_000_quota_tokens() -> None:
    assert a_rate().charge(Usage(500_000)) == quota_from_usd(Decimal(1))


@pytest.mark.rule("S7.2")
@settings(max_examples=300, deadline=None)
@given(any_rates, usages)
def test_the_default_group_changes_nothing(rate: Rate, usage: Usage) -> None:
    price = rate.price
    fresh_tokens = usage.input_units - usage.cached_units
    weighted = fresh_tokens * MILLIONTHS + usage.cached_units * price.cached + usage.output_units * price.completion
    without_group = Fraction(price.model * weighted, 1_000_000)
    charged = Rate(price, millionths(Decimal(1))).charge(usage)
    assert -HALF < charged - without_group <= HALF


@pytest.mark.parametrize(
    ("group", "tokens", "charged", "held"),
    [
        pytest.param("0.499999", 1, 0, 1, id="under a half"),
        pytest.param("0.5", 1, 1, 1, id="a half"),
        pytest.param("0.500001", 1, 1, 1, id="over a half"),
        pytest.param("0.5", 3, 2, 2, id="one and a half"),
        pytest.param("0.5", 5, 3, 3, id="two and a half, not to even"),
        pytest.param("0.5", 4, 2, 2, id="two"),
        pytest.param("0.000001", 1, 0, 1, id="the least there is"),
    ],
)
def test_a_charge_is_rounded_half_up_and_a_hold_up(group: str, tokens: int, charged: int, held: int) -> None:
    rate = a_rate(model="0.000001", group=group)
    assert (rate.charge(Usage(tokens)), rate.ceiling(Usage(tokens))) == (charged, held)


@given(st.integers(0, 10**12), st.integers(0, 10**6))
def test_a_tie_always_goes_up(whole_units: int, output_tokens: int) -> None:
    rate = a_rate(model="0.000001", completion="2", group="0.5")
    usage = Usage(2 * whole_units + 1, output_tokens)
    assert exact(rate, usage) == whole_units + output_tokens + HALF
    assert rate.charge(usage) == whole_units + output_tokens + 1


@pytest.mark.rule("S7.1")
@settings(max_examples=1_500, deadline=None)
@given(any_rates, usages)
def test_a_charge_is_the_nearest_unit_and_a_hold_the_next(rate: Rate, usage: Usage) -> None:
    assert_rounded(rate, usage)


@pytest.mark.not_quick
def test_twenty_thousand_random_calls_cost_what_the_formula_says() -> None:
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)  # noqa: S311
    for _ in range(20_000):
        model, completion, cached, group = (chance.randrange(10 ** chance.randint(1, 9)) for _ in range(4))
        fresh, of_cache, output = (chance.randrange(10 ** chance.randint(1, 7)) for _ in range(3))
        price = Price(id=1, model_id="m", effective_from=NOW, model=model, completion=completion, cached=cached)
        assert_rounded(Rate(price, group), of_kinds(fresh, of_cache, output))


def assert_rounded(rate: Rate, usage: Usage) -> None:
    cost = exact(rate, usage)
    # Below the true cost by less than a half, or above it by at most a half: a tie can only have gone up.
    assert -HALF < rate.charge(usage) - cost <= HALF, (rate, usage)
    assert 0 <= rate.ceiling(usage) - cost < 1, (rate, usage)


@settings(max_examples=500, deadline=None)
@given(any_rates, usages, st.data())
def test_a_ceiling_is_enough_for_less_of_every_kind_of_token(rate: Rate, usage: Usage, data: st.DataObject) -> None:
    fresh_tokens = usage.input_units - usage.cached_units
    fewer = [data.draw(st.integers(0, most)) for most in (fresh_tokens, usage.cached_units, usage.output_units)]
    assert rate.charge(of_kinds(*fewer)) <= rate.ceiling(usage)


@pytest.mark.parametrize(
    ("multiplier", "expected"),
    [
        ("0", 0),
        ("1", 1_000_000),
        ("0.000001", 1),
        ("1.25", 1_250_000),
        ("0.0750000", 75_000),
        ("99999999.999999", 99_999_999_999_999),
    ],
    ids=["none", "one", "the least", "two decimals", "seventh decimal is zero", "the most a price may carry"],
)
def test_a_multiplier_becomes_millionths(multiplier: str, expected: int) -> None:
    assert millionths(Decimal(multiplier)) == expected


@pytest.mark.parametrize("multiplier", ["0.0000001", "1.2345678", "99999999.9999999", "1e-7", "NaN"])
def test_a_multiplier_with_seven_decimals_is_refused(multiplier: str) -> None:
    with pytest.raises(ValueError, match="more than six decimals"):
        millionths(Decimal(multiplier))


@given(st.integers(0, 10**14))
def test_every_multiplier_of_six_decimals_is_kept_exactly(units: int) -> None:
    assert millionths(Decimal(units).scaleb(-6)) == units


def a_price(id_: int, effective_from: datetime) -> Price:
    return Price(id=id_, model_id="m", effective_from=effective_from, model=1, completion=1, cached=1)


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (NOW - timedelta(microseconds=1), None),
        (NOW, 1),
        (NOW + timedelta(days=1, microseconds=-1), 1),
        (NOW + timedelta(days=1), 2),
        (NOW + timedelta(days=2), 3),
        (NOW + timedelta(days=999), 3),
    ],
    ids=["before the first", "as the first begins", "until the next", "as it begins", "as the last begins", "for good"],
)
@pytest.mark.parametrize("order", [(1, 2, 3), (3, 2, 1), (2, 3, 1)], ids=str)
def test_the_latest_price_that_has_begun_is_in_force(
    order: tuple[int, ...], now: datetime, expected: int | None
) -> None:
    prices = [a_price(id_, NOW + timedelta(days=id_ - 1)) for id_ in order]
    found = in_force(prices, now)
    assert (found and found.id) == expected


def test_without_prices_none_is_in_force() -> None:
    assert in_force([], NOW) is None


def test_usage_in_a_journal_of_an_earlier_version_is_read_and_written_as_it_was() -> None:
    line = b'{"input_tokens":7,"output_tokens":3,"cached_tokens":2}'
    assert msgspec.json.decode(line, type=Usage) == Usage(7, 3, 2)
    assert msgspec.json.encode(Usage(7, 3, 2)) == line
