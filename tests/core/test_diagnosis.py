"""Clocks that disagree, by how much."""

import pytest

from tollkeeper.core.diagnosis import clock, clock_trouble


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


@pytest.mark.parametrize(
    ("ahead_seconds", "uncertain_seconds", "words"),
    [
        (4.9, 0.0, ""),
        (-300.0, 0.1, "This machine's clock is 300 s behind the database's."),
        (300.0, 0.1, "This machine's clock is 300 s ahead of the database's."),
        # An answer that took so long says little about the time.
        (8.0, 4.0, ""),
    ],
)
def test_a_running_process_speaks_of_a_clock_that_is_surely_wrong(
    ahead_seconds: float, uncertain_seconds: float, words: str
) -> None:
    told = clock_trouble(ahead_seconds, uncertain_seconds=uncertain_seconds)
    assert told.startswith(words)
    assert bool(told) == bool(words)
