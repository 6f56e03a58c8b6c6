"""How long quota lasts: table by table, and never longer for lapsing sooner."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.lots import Lot
from tollkeeper.core.money.runway import days_left

NOW = datetime(2026, 7, 1, tzinfo=UTC)
KEY = 7
OTHER_KEY = 8


def a_lot(remaining: int, *, days: float = 300, key_id: int | None = None) -> Lot:
    return Lot(id=1, remaining=Quota(remaining), expires_at=NOW + timedelta(days=days), key_id=key_id)


@pytest.mark.parametrize(
    ("lots", "week_spent", "days"),
    [
        pytest.param([a_lot(100)], {}, None, id="nobody spends"),
        pytest.param([a_lot(100)], {None: 0, KEY: 0}, None, id="nothing was spent"),
        pytest.param([], {None: 7}, 0, id="nothing there"),
        pytest.param([a_lot(100)], {None: 7}, 100, id="one a day"),
        pytest.param([a_lot(100)], {None: 14}, 50, id="two a day"),
        pytest.param([a_lot(10)], {None: 4}, 17, id="days are whole"),
        pytest.param([a_lot(100, days=1)], {None: 7}, 1, id="it lapses tomorrow"),
        pytest.param([a_lot(100, days=0.5)], {None: 7}, 0, id="it lapses today"),
        pytest.param([a_lot(100, days=-1)], {None: 7}, 0, id="it has lapsed"),
        pytest.param([a_lot(50), a_lot(100, days=1)], {None: 7}, 51, id="what is spared tomorrow lasts from then on"),
        pytest.param([a_lot(50), a_lot(5, days=10)], {None: 7}, 55, id="soonest first, spent before it lapses"),
        pytest.param([a_lot(50, days=20), a_lot(100, days=10)], {None: 7}, 20, id="both lapse"),
        pytest.param([a_lot(100, key_id=KEY)], {None: 7}, 0, id="bound to a key that spends nothing"),
        pytest.param([a_lot(100, key_id=KEY)], {KEY: 7}, 100, id="bound to the key that spends"),
        pytest.param([a_lot(100, key_id=KEY, days=3)], {KEY: 7}, 3, id="bound, and it lapses"),
        pytest.param([a_lot(100, key_id=KEY), a_lot(10)], {None: 7}, 10, id="others have the free ones alone"),
        pytest.param([a_lot(10, key_id=KEY), a_lot(10)], {KEY: 7}, 20, id="the key's own, then the free ones"),
        pytest.param(
            [a_lot(10, key_id=KEY), a_lot(20)], {KEY: 7, None: 7}, 15, id="one more draws when its own is gone"
        ),
        pytest.param(
            [a_lot(100, key_id=KEY), a_lot(5, days=3)], {KEY: 7}, 100, id="free ones lapse while nobody draws"
        ),
        pytest.param(
            [a_lot(10, key_id=KEY), a_lot(30, key_id=OTHER_KEY), a_lot(5)],
            {KEY: 7, OTHER_KEY: 7},
            15,
            id="who runs out first decides",
        ),
    ],
)
def test_for_how_many_days_quota_lasts(lots: list[Lot], week_spent: Mapping[int | None, int], days: int | None) -> None:
    assert days_left(lots, week_spent, NOW) == days


lots_of_a_table = st.lists(
    st.builds(
        a_lot,
        st.integers(0, 10**15),
        days=st.integers(-3, 400),
        key_id=st.sampled_from([None, KEY, OTHER_KEY]),
    ),
    max_size=6,
)
weeks = st.dictionaries(st.sampled_from([None, KEY, OTHER_KEY]), st.integers(1, 10**13), min_size=1)


@given(lots_of_a_table, weeks)
def test_it_never_lasts_longer_than_if_anybody_could_spend_all_of_it_for_ever(
    lots: list[Lot], week_spent: Mapping[int | None, int]
) -> None:
    found = days_left(lots, week_spent, NOW)
    slowest = min(week_spent.values())
    assert found is not None
    assert 0 <= found <= sum(lot.remaining for lot in lots) * 7 // slowest


@given(lots_of_a_table, weeks)
def test_a_free_lot_more_never_makes_it_shorter(lots: list[Lot], week_spent: Mapping[int | None, int]) -> None:
    fewer, more = days_left(lots, week_spent, NOW), days_left([*lots, a_lot(10**12)], week_spent, NOW)
    assert fewer is not None
    assert more is not None
    assert fewer <= more
