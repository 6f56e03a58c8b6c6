"""What other guests of the machine had: which rounds count, and how much fell between two moments."""

from collections.abc import Sequence

import pytest

from proofs.rig.measuring import stolen
from proofs.rig.measuring.measured_orders import whole
from proofs.speed import comparison
from proofs.speed.contestants import Subject
from proofs.speed.rounds import Demand, Length
from proofs.speed.states import Party
from proofs.speed.timed_load import Measured, Plan

CALM, DISTURBED = 0.01, 0.3
PARTIES = [Party(Subject(name, 1, 1), [], {}) for name in ("before", "now")]


def measured(stolen_share: float) -> Measured:
    return Measured(
        calls=1,
        calls_in_all=1,
        events=0,
        first_events=0,
        seconds=1,
        p50_ms=1,
        p99_ms=1,
        late_p50_us=0,
        late_p99_us=0,
        cpu_seconds={"before": 1.0, "now": 1.0},
        stolen_share=stolen_share,
    )


@pytest.mark.parametrize(
    ("stolen_shares", "made", "worst_that_counts"),
    [([CALM] * 4, 4, CALM), ([CALM, DISTURBED, CALM, CALM, CALM], 5, CALM), ([DISTURBED] * 8, 8, DISTURBED)],
    ids=["calm", "one is disturbed", "all are"],
)
def test_rounds_in_which_others_had_the_machine_are_made_once_more(
    monkeypatch: pytest.MonkeyPatch, stolen_shares: list[float], made: int, worst_that_counts: float
) -> None:
    left = iter(stolen_shares)

    def run(plans: Sequence[Plan]) -> list[Measured]:
        # Half of the parties are as calm as can be: a round is as disturbed as the worst of them.
        return [measured(share) for _ in plans[::2] for share in (next(left), 0.0)]

    monkeypatch.setattr("proofs.speed.rounds.run", run)
    turns = comparison.in_turns(PARTIES, Length(4, 1), Demand(order=whole()))
    assert len(turns) == made
    counted = comparison.counted(turns, Length(4, 1))
    assert len(counted) == 4
    assert max(map(comparison.stolen_share, counted)) == worst_that_counts


def test_what_counts_keeps_its_order() -> None:
    assert stolen.calmest([0.1, 0.0, 0.3, 0.05], 3, lambda share: share) == [0.1, 0.0, 0.05]


def test_what_was_stolen_between_two_moments_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    moments, so_far = iter([10.0, 11.0, 12.0, 13.0]), iter([1.0, 1.0, 1.5, 1.75])
    watch = stolen.Watch()
    monkeypatch.setattr("proofs.rig.measuring.stolen.stolen_seconds", lambda: next(so_far))
    monkeypatch.setattr("proofs.rig.measuring.stolen.time.time", lambda: next(moments))
    for _ in range(4):
        watch.look()
    assert watch.stolen_between(10.1, 10.9) == 0
    assert watch.stolen_between(11.0, 12.0) == 0.5
    assert watch.stolen_between(9.0, 20.0) == 0.75


def test_the_kernel_is_asked() -> None:
    with stolen.Watch() as watch:
        assert watch.stolen_between(0.0, 1.0) == 0
    assert stolen.stolen_seconds() >= 0
