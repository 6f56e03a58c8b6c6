"""Where the time of a call goes: what the log says is divided among its parts, and nothing is counted twice."""

import pytest

from proofs.speed.latency import Latency, LoggedCall, _mean
from proofs.speed.latency_plot import drawn

CALLS = [LoggedCall(float(number), number / 2, number / 10, number / 5) for number in range(1, 1_001)]


def test_parts_add_up_to_what_callers_see() -> None:
    found = _mean(CALLS, 8, "p50", (0.4, 0.6), seen_ms=600.0)
    assert sum(found.parts.values()) == pytest.approx(600.0)
    assert found.provider == pytest.approx(found.own + found.limits + found.hold)


def test_the_tail_is_of_its_own_calls() -> None:
    middle, tail = (_mean(CALLS, 8, "", share, seen_ms=0.0) for share in ((0.4, 0.6), (0.985, 0.995)))
    assert (round(middle.hold), round(tail.hold)) == (100, 198)
    # Callers saw less than the log says: they were measured by another clock.
    assert middle.around == 0


def test_few_calls_have_a_tail_too() -> None:
    assert _mean(CALLS[:1], 1, "p99", (0.985, 0.995), seen_ms=2.0).around == 1.0


def test_every_row_has_its_bar_and_its_figure() -> None:
    rows = [Latency(callers=1, of="p50", provider=1, limits=0.5, hold=0.5, own=1, around=1)]
    picture = drawn(rows)
    assert ">1 caller, p50<" in picture
    assert ">4.0 ms<" in picture
    assert all(name in picture for name in rows[0].parts)
