"""Numbers as people type them."""

from decimal import Decimal

import pytest

from tollkeeper.cli.customers import amount_of
from tollkeeper.cli.speak import Mistake
from tollkeeper.core.money.amounts import plain_decimal


@pytest.mark.parametrize("text", ["10", "2.50", "-5", "+1", "0.000001"])
def test_plain_digits_are_a_number(text: str) -> None:
    assert plain_decimal(text) == Decimal(text)


@pytest.mark.parametrize("text", ["1e3", "1E3", "1_000", "NaN", "Infinity", "", " 1", "1,000", "٣", "1.", ".5", "0x10"])
def test_what_could_be_a_slip_is_none(text: str) -> None:
    assert plain_decimal(text) is None


def test_a_thousand_in_short_is_refused_with_what_to_write() -> None:
    with pytest.raises(Mistake, match="'1e3' is not a number of USD"):
        amount_of("1e3")
