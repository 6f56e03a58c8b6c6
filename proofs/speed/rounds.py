"""Rounds: the same load on each subject in turn, so that the machine's moods meet all of them."""

import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence

import msgspec

from proofs.rig.measuring.measured_orders import Order
from proofs.rig.measuring.stolen import CALM_SHARE_MOST
from proofs.rig.patience import patience
from proofs.rig.proof import say
from proofs.speed.contestants import CONNECTIONS, Stage, Subject
from proofs.speed.timed_load import Measured, Plan

WARM_SECONDS = 0.5
PATIENCE_SECONDS = 60.0
# A turn in which other guests had too much of the machine is made once more; the calmer one counts.
TURNS_MOST = 2


class Length(msgspec.Struct, frozen=True):
    """How many rounds, and how long each subject's turn is in each of them."""

    rounds: int
    seconds: float


class Demand(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of a subject in its turn: by how many connections, how often, with whose keys."""

    order: Order
    connections: int = CONNECTIONS
    per_second: float | None = None
    # Without: as many of the stage's as there are connections.
    keys: list[str] | None = None
    begin_within_seconds: float = 0


class Turns(msgspec.Struct, frozen=True):
    """What was measured, by the subject's name; one for each round."""

    rounds: list[dict[str, Measured]]

    def median(self, figure: Callable[[dict[str, Measured]], float]) -> float:
        return statistics.median(map(figure, self.rounds))

    def cpu_us(self, name: str, *beside: str) -> float:
        """What a call costs a subject, and what works beside it."""
        return self.median(lambda turn: turn[name].cpu_us_per_call(name, *beside))

    def beside_us(self, name: str, beside: str) -> float:
        """What a subject's call costs one that works beside it."""
        return self.median(lambda turn: turn[name].cpu_us_per_call(beside))

    def event_us(self, name: str) -> float:
        return self.median(lambda turn: turn[name].cpu_us_per_event(name))

    def ratio(self, name: str, to: str, *beside: str) -> float:
        """A subject's cost to another's, of the same round."""
        return self.median(
            lambda turn: turn[name].cpu_us_per_call(name, *beside) / turn[to].cpu_us_per_call(to, *beside)
        )


class Rounds:
    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        # Through gateways: each must have its receipt.
        self.calls = 0

    def run(self, subjects: Sequence[Subject], length: Length, demand: Demand) -> Turns:
        """Whoever is first in one round is last in the next: what only time changes falls on all alike."""
        turns = []
        for number in range(length.rounds):
            first = number % len(subjects)
            in_order = [*subjects[first:], *subjects[:first]]
            turns.append({subject.name: self._turn(subject, length.seconds, demand) for subject in in_order})
        return Turns(turns)

    def once(self, demands: Iterable[tuple[Subject, Demand]], seconds: float) -> dict[str, Measured]:
        """One round in which something else is asked of each."""
        return {subject.name: self._turn(subject, seconds, demand) for subject, demand in demands}

    def _turn(self, subject: Subject, seconds: float, demand: Demand) -> Measured:
        plan = Plan(
            port=subject.port,
            connections=demand.connections,
            keys=demand.keys or self.stage.keys[: demand.connections],
            headers=dict(subject.headers),
            body=demand.order.body,
            events=demand.order.events,
            begin_within_seconds=demand.begin_within_seconds,
            warm_seconds=WARM_SECONDS,
            seconds=seconds,
            per_second=demand.per_second,
            watched=self.stage.beside | {subject.name: subject.pid},
        )
        turns: list[Measured] = []
        while len(turns) < TURNS_MOST and all(turn.stolen_share > CALM_SHARE_MOST for turn in turns):
            [found] = run([plan])
            say(told(subject.name, found))
            if subject.keeps_books:
                self.calls += found.calls_in_all
            turns.append(found)
        return min(turns, key=lambda turn: turn.stolen_share)


def run(plans: Sequence[Plan]) -> list[Measured]:
    """One after another, in one process."""
    done = subprocess.run(
        [sys.executable, "-m", "proofs.speed.timed_load"],
        input=msgspec.json.encode(plans),
        stdout=subprocess.PIPE,
        timeout=sum(plan.warm_seconds + plan.seconds + patience(PATIENCE_SECONDS) for plan in plans),
        check=True,
    )
    return msgspec.json.decode(done.stdout, type=list[Measured])


def told(name: str, found: Measured) -> str:
    shares = ", ".join(f"{name} {spent / found.seconds:.0%}" for name, spent in found.cpu_seconds.items())
    late = f"events p50 {found.late_p50_us:.0f} µs, p99 {found.late_p99_us:.0f} µs; " if found.late_p50_us else ""
    return (
        f"{name}: {found.per_second:.0f} calls/s, {found.events / found.seconds:.0f} events/s, "
        f"p50 {found.p50_ms:.1f} ms, p99 {found.p99_ms:.1f} ms; {late}of a core: {shares}; "
        f"stolen {found.stolen_share:.1%}"
    )
