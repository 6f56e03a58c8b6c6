"""Percentiles from buckets."""

import random

import pytest

from tollkeeper.core.pool.latency import BOUNDS_MS, BUCKETS, percentile_ms


def counted(times: list[int]) -> list[int]:
    return [
        sum(1 for ms in times if low <= ms < high)
        for low, high in zip((0, *BOUNDS_MS), (*BOUNDS_MS, 10**9), strict=True)
    ]


@pytest.mark.parametrize("percent", [50, 95, 99])
def test_a_percentile_is_right_to_within_a_fifth(percent: float) -> None:
    chance = random.Random(19)  # noqa: S311 (no secret)
    times = sorted(round(chance.lognormvariate(6, 1)) for _ in range(10_000))
    exact = times[round(len(times) * percent / 100) - 1]
    found = percentile_ms(counted(times), percent)
    assert found is not None
    assert abs(found - exact) <= exact / 5


def test_nothing_has_no_percentile() -> None:
    assert percentile_ms([0] * BUCKETS, 50) is None


def test_what_took_longest_is_told_as_the_last_bound() -> None:
    assert percentile_ms([0] * (BUCKETS - 1) + [3], 99) == BOUNDS_MS[-1]
