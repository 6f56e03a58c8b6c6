"""The calls of a demo day."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from tollkeeper.demo.past.calls import calls_of

A_MONDAY = datetime(2026, 3, 2, tzinfo=UTC)


def test_a_day_is_the_same_whenever_it_is_made() -> None:
    assert calls_of(A_MONDAY, 5, seed=1) == calls_of(A_MONDAY, 5, seed=1)
    assert calls_of(A_MONDAY, 5, seed=1) != calls_of(A_MONDAY, 5, seed=2)


def test_calls_stand_in_their_order_and_do_not_overlap() -> None:
    for days_back in range(20):
        calls = calls_of(A_MONDAY - timedelta(days=days_back), days_back, seed=1)
        assert all(earlier.ended_at < later.at for earlier, later in pairwise(calls))
