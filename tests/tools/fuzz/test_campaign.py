"""The fuzzers find what is wrong: otherwise that they find nothing would mean nothing."""

from pathlib import Path

import pytest

from tools.fuzz.__main__ import again, all_hold, figures
from tools.fuzz.campaign import Outcome, campaign

pytestmark = pytest.mark.not_quick

PLANTED = "tests.tools.fuzz.planted"
SECONDS = 2.0


def outcome_of(name: str, *, blindly: bool) -> Outcome:
    (outcome,) = campaign([f"{PLANTED}_{name}"], SECONDS, seed=1, blindly=blindly)
    return outcome


led_and_blind = pytest.mark.parametrize("blindly", [False, True], ids=["led by coverage", "blindly"])


@led_and_blind
def test_a_crash_is_found_and_can_be_seen_again(blindly: bool) -> None:
    outcome = outcome_of("crash", blindly=blindly)
    (found,) = outcome.crashes
    assert "AssertionError at planted.py" in found.what
    assert b"]" in Path(found.path).read_bytes()
    with pytest.raises(AssertionError):
        again(f"{PLANTED}_crash", Path(found.path).read_bytes())
    assert not all_hold([outcome])
    assert (figures([outcome])["crashes"], figures([outcome])["slow"]) == (1, 0)


def test_an_input_that_takes_long_is_found() -> None:
    outcome = outcome_of("slow", blindly=True)
    assert not outcome.crashes
    assert outcome.slow
    assert outcome.slowest_cpu_ms > 100
    assert not all_hold([outcome])
    assert all_hold([outcome], judges_timings=False)
    assert figures([outcome])["crashes"] == 0


@led_and_blind
def test_nothing_is_found_where_nothing_is_wrong(blindly: bool) -> None:
    outcome = outcome_of("nothing", blindly=blindly)
    assert outcome.executions > 10
    assert all_hold([outcome])
    assert figures([outcome])["targets"] == 1


def test_a_search_that_dies_is_a_failure() -> None:
    (outcome,) = campaign(["tests.tools.fuzz.planted_not_at_all"], SECONDS, seed=1)
    assert not outcome.holds
