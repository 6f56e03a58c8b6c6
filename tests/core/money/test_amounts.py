from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tollkeeper.core.money.amounts import (
    MOST,
    UNITS_PER_MILL,
    UNITS_PER_QUOTA_TOKEN,
    NotAnAmount,
    Quota,
    mills_remaining,
    mills_used,
    quota_from_usd,
    quota_text,
    usd_exact,
    usd_text,
)


def test_one_usd_is_half_a_million_quota_tokens() -> None:
    assert quota_from_usd(Decimal(1)) == 500_000 * UNITS_PER_QUOTA_TOKEN == 500_000_000_000


@pytest.mark.parametrize(
    ("units", "remaining", "used"),
    [
        pytest.param(0, 0, 0, id="nothing"),
        pytest.param(UNITS_PER_MILL - 1, 0, 1, id="just under a thousandth"),
        pytest.param(UNITS_PER_MILL // 2, 0, 1, id="exactly half rounds up when used"),
        pytest.param(UNITS_PER_MILL // 2 - 1, 0, 0, id="under half rounds down"),
        pytest.param(-5, 0, 0, id="below zero shows as zero"),
    ],
)
def test_remaining_is_rounded_down_and_used_half_up(units: int, remaining: int, used: int) -> None:
    assert (mills_remaining(Quota(units)), mills_used(Quota(units))) == (remaining, used)


@pytest.mark.parametrize(("mills", "text"), [(0, "0.000"), (7, "0.007"), (12_345, "12.345"), (1_000_000, "1000.000")])
def test_usd_always_has_three_decimals(mills: int, text: str) -> None:
    assert usd_text(mills) == text


@pytest.mark.parametrize(
    ("units", "text"),
    [
        pytest.param(0, "0.000", id="nothing"),
        pytest.param(1, "0.000000000002", id="one unit"),
        pytest.param(5, "0.00000000001", id="no zeros behind the last digit"),
        pytest.param(153_750_000, "0.0003075", id="a call"),
        pytest.param(UNITS_PER_MILL, "0.001", id="a thousandth"),
        pytest.param(UNITS_PER_MILL * 100, "0.100", id="always three decimals"),
        pytest.param(UNITS_PER_MILL * 1_000, "1.000", id="one USD"),
        pytest.param(UNITS_PER_MILL * 1_000 - 1, "0.999999999998", id="one unit less"),
        pytest.param(UNITS_PER_MILL * 1_200_340, "1200.340", id="a large amount"),
        pytest.param(MOST, "2305843.009213693952", id="the most"),
        pytest.param(-UNITS_PER_MILL * 1_500, "-1.500", id="what went"),
        pytest.param(-1, "-0.000000000002", id="one unit that went"),
    ],
)
def test_an_exact_amount_is_shown_to_its_last_unit(units: int, text: str) -> None:
    assert usd_exact(Quota(units)) == text


@pytest.mark.parametrize(
    ("units", "text"), [(0, "0"), (1, "0.000001"), (-1_500_000, "-1.5"), (500_000_000_000, "500000"), (-400, "-0.0004")]
)
def test_quota_tokens_are_shown_to_their_last_unit_without_zeros_behind_it(units: int, text: str) -> None:
    assert quota_text(units) == text


@given(st.integers(min_value=1, max_value=MOST))
def test_an_exact_amount_can_be_entered_again(units: int) -> None:
    assert quota_from_usd(Decimal(usd_exact(Quota(units)))) == units


@pytest.mark.parametrize("entered", ["0", "-1", "NaN", "Infinity", "0.0000000000001", "1e30", "2305844"])
def test_what_is_not_an_exact_positive_amount_in_range_is_refused(entered: str) -> None:
    with pytest.raises(NotAnAmount):
        quota_from_usd(Decimal(entered))


@given(st.integers(min_value=1, max_value=MOST))
def test_every_whole_amount_survives_entry_in_usd(units: int) -> None:
    assert quota_from_usd(Decimal(units) / 500_000_000_000) == units
