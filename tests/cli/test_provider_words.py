"""Provider accounts in words."""

import pytest

from tollkeeper.cli.provider_options import limit_in
from tollkeeper.cli.provider_words import limits_in_words, usd
from tollkeeper.cli.speak import Mistake
from tollkeeper.core.money.amounts import UNITS_PER_USD
from tollkeeper.core.pool.choice import PoolPlace


@pytest.mark.parametrize(
    ("place", "told"),
    [
        (PoolPlace(), "none"),
        (PoolPlace(concurrency=4), "4 at once"),
        (PoolPlace(requests_per_minute=60, tokens_per_minute=9_000), "60 requests/min, 9000 tokens/min"),
    ],
)
def test_limits_are_told_in_words(place: PoolPlace, told: str) -> None:
    assert limits_in_words(place) == told


@pytest.mark.parametrize(
    ("amount", "told"),
    [
        (0, "0.000"),
        (UNITS_PER_USD * 3 // 2, "1.500"),
        (-UNITS_PER_USD // 4, "-0.250"),
        (-1, "0.000"),
    ],
)
def test_a_loss_has_a_minus(amount: int, told: str) -> None:
    assert usd(amount) == told


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "many", "", "٣", "9" * 5_000])
def test_what_is_no_limit_is_refused(text: str) -> None:
    with pytest.raises(Mistake, match="is not a limit"):
        limit_in(text)


def test_a_limit_is_a_number_or_is_taken_away() -> None:
    assert limit_in("60") == 60
    assert limit_in("none") is None
