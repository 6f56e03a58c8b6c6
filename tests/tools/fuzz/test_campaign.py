"""The fuzzers find what is wrong: otherwise that they find nothing would mean nothing."""

from pathlib import Path

import pytest

from tools.fuzz.__main__ import again, report
from tools.fuzz.campaign import Outcome, campaign

pytestmark = pytest.mark.not_quick

PLANTED = "tests.tools.fuzz.planted"
SECONDS = 2.0


def outcome_of(name: str, *, blindly: bool) -> Outcome:
    (outcome,) = campaign([f"{PLANTED}_{name}"], SECONDS, seed=1, blindly=blindly)
    return outcome


led_and_blind = pytest.mark.parametrize("blindly", [False, True], ids=["led by coverage", "blindly"])


@led_and_blind
def test_a_crash_is_found_and_can_be_seen_again(blindly: bool, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = outcome_of("crash", blindly=blindly)
    (found,) = outcome.crashes
    assert "AssertionError at planted.py" in found.what
    assert b"]" in Path(found.path).read_bytes()
    with pytest.raises(AssertionError):
        again(f"{PLANTED}_crash", Path(found.path).read_bytes())
    assert report([outcome]) == 1
    assert "crashes=1 slow=0" in capsys.readouterr().out.splitlines()[-1]


def test_an_input_that_takes_long_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = outcome_of("slow", blindly=True)
    assert not outcome.crashes
    assert outcome.slow
    assert outcome.slowest_cpu_ms > 100
    assert report([outcome]) == 1
    assert "crashes=0" in capsys.readouterr().out.splitlines()[-1]


@led_and_blind
def test_nothing_is_found_where_nothing_is_wrong(blindly: bool, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = outcome_of("nothing", blindly=blindly)
    assert outcome.executions > 10
    assert report([outcome]) == 0
    assert "targets=1" in capsys.readouterr().out.splitlines()[-1]


def test_a_search_that_dies_is_a_failure() -> None:
    (outcome,) = campaign(["tests.tools.fuzz.planted_not_at_all"], SECONDS, seed=1)
    assert not outcome.holds
