"""However a proof ends, its last line has its figures."""

import pytest

from proofs.rig.checks import Check, failed
from proofs.rig.patience import TIMES_AS_LONG_IN_CI, came_true, patience
from proofs.rig.proof import Run, outcome


def a_run(size: str = "small") -> Run:
    run = Run(size=size)
    run.expect("calls", "books")
    return run


def last_line(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out.splitlines()[-1]


@pytest.mark.parametrize("status", [0, 1])
def test_the_last_line_has_the_figures_in_the_order_in_which_they_were_declared(
    status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    def proof(run: Run) -> int:
        run.figures |= {"books": "clean", "calls": 3}
        return status

    assert outcome(proof, a_run()) == status
    assert last_line(capsys) == "calls=3 books=clean"


def test_a_proof_that_breaks_off_prints_what_it_has_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    def proof(run: Run) -> int:
        run.figures["calls"] = 3
        raise TimeoutError("nothing came")

    assert outcome(proof, a_run()) == 1
    printed = capsys.readouterr()
    assert printed.out.splitlines()[-1] == "calls=3 books=- broke_off=TimeoutError"
    assert "TimeoutError: nothing came" in printed.err


def test_a_proof_that_is_terminated_prints_what_it_has_and_ends(capsys: pytest.CaptureFixture[str]) -> None:
    def proof(run: Run) -> int:
        raise SystemExit(143)

    with pytest.raises(SystemExit) as ended:
        outcome(proof, a_run())
    assert ended.value.code == 143
    assert last_line(capsys) == "calls=- books=- broke_off=SystemExit"


@pytest.mark.parametrize(
    ("in_ci", "size", "judges"),
    [(False, "small", True), (False, "full", True), (True, "small", False), (True, "full", True)],
)
def test_timings_are_judged_by_hand_and_in_full_size(
    in_ci: bool, size: str, judges: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    if in_ci:
        monkeypatch.setenv("CI", "true")
    assert a_run(size).judges_timings == judges


def test_waits_are_longer_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    assert patience(10) == 10
    monkeypatch.setenv("CI", "true")
    assert patience(10) == 10 * TIMES_AS_LONG_IN_CI


def test_what_does_not_come_true_is_told_and_not_raised() -> None:
    assert came_true(lambda: True, within_seconds=0)
    assert not came_true(lambda: False, within_seconds=0)


def test_what_depends_on_the_machine_fails_only_where_it_is_judged(capsys: pytest.CaptureFixture[str]) -> None:
    checks = [Check("right", True), Check("wrong", False, "3, not 2"), Check("late", False, "3 s", timed=True)]
    assert [check.name for check in failed(checks)] == ["wrong", "late"]
    assert [check.name for check in failed(checks, timed=False)] == ["wrong"]
    assert last_line(capsys) == "  FAILED wrong: 3, not 2"
