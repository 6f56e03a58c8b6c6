"""The partner plan's figures, and amounts of cash."""

from decimal import Decimal
from fractions import Fraction

import pytest

from tollkeeper.core.money.amounts import NotAnAmount
from tollkeeper.core.partner.plan import (
    CASH_MILLIONTHS,
    GIFT_MILLIONTHS,
    MicroUsd,
    micros_from_usd,
    quota_of_micros,
    usd_of_micros,
)


@pytest.mark.parametrize(
    ("usd", "quota"),
    [("10", 5_000_000_000_000), ("0.000001", 500_000), ("999999", 499_999_500_000_000_000)],
)
def test_an_amount_is_the_same_in_usd_and_in_quota(usd: str, quota: int) -> None:
    assert quota_of_micros(micros_from_usd(Decimal(usd))) == quota


@pytest.mark.rule("S10.1")
@pytest.mark.rule("S10.2")
def test_cash_is_half_of_five_percent_and_a_gift_five() -> None:
    assert Fraction(CASH_MILLIONTHS, 1_000_000) == Fraction(1, 2) * Fraction(5, 100)
    assert Fraction(GIFT_MILLIONTHS, 1_000_000) == Fraction(5, 100)


@pytest.mark.parametrize("usd", ["0", "-1", "NaN", "Infinity", "0.0000001", "10000000000"])
def test_what_is_no_amount_is_refused(usd: str) -> None:
    with pytest.raises(NotAnAmount):
        micros_from_usd(Decimal(usd))


@pytest.mark.parametrize(
    ("micros", "text"),
    [
        (250_000, "0.25"),
        (0, "0.00"),
        (-250_000, "-0.25"),
        (1, "0.000001"),
        (1_500_000, "1.50"),
        (2_345_678, "2.345678"),
    ],
)
def test_cash_is_written_to_its_last_micro_usd(micros: int, text: str) -> None:
    assert usd_of_micros(MicroUsd(micros)) == text
