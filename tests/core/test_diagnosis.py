"""Clocks that disagree, by how much."""

import pytest

from tollkeeper.core.diagnosis import clock


@pytest.mark.parametrize(
    ("skew_seconds", "condition", "words"),
    [
        (0.02, "ok", "agrees"),
        (-0.9, "ok", "agrees"),
        (4.0, "to do", "4.0 s ahead of"),
        (-4.0, "to do", "4.0 s behind"),
        (3_600.0, "broken", "3600.0 s ahead of"),
    ],
)
def test_a_clock_is_judged_by_how_far_it_is_off(skew_seconds: float, condition: str, words: str) -> None:
    line = clock("PostgreSQL clock", skew_seconds)
    assert line.condition == condition
    assert words in line.told
    assert bool(line.remedy) == (condition != "ok")
