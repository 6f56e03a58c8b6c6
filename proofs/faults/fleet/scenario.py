"""A scenario: load, faults one after the other while it goes on, and what must have come of it.

Rules of this file
1. A fault comes when so many calls were begun since the one before: a slow machine changes the times, not the order.
2. Which worker, which node, which kind of call: all chance comes from the seed, so a scenario can be run again.
3. A fault's recovery ends with the last call that was begun after it and failed before the next one came.
"""

import itertools
import math
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import msgspec

from proofs.faults.fleet.callers import Callers, Load, Placed, calling
from proofs.faults.fleet.join import join
from proofs.faults.fleet.site import Fleet
from proofs.faults.rows import BOOKS, Row, Tally
from proofs.rig.checks import Check
from proofs.rig.customers import Customer
from proofs.rig.deployment import books_are_clean
from proofs.rig.proof import say

EXAMPLES = 5


Act = Callable[[Fleet], object]


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happens to the fleet. `lasts`: `act` ends when the fault does, and recovery begins then."""

    name: str
    act: Act
    # Begun since the fault before.
    after_calls: int
    lasts: bool = False


class Happened(msgspec.Struct, frozen=True, kw_only=True):
    """A fault that came to pass, by the monotonic clock."""

    fault: Fault
    began: float
    ended: float

    @property
    def recovers_from(self) -> float:
        return self.ended if self.fault.lasts else self.began


class Aftermath(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is known when a scenario is over."""

    placed: Sequence[Placed]
    happened: Sequence[Happened]
    tally: Tally
    memory_growth_bytes: int
    books_clean: bool
    # By acts in which something was wrong.
    said: Sequence[str] = ()

    @property
    def failed(self) -> list[Placed]:
        return [one for one in self.placed if not one.is_served]

    def recoveries(self) -> list[tuple[str, float]]:
        """For each fault, how many seconds later a call that was begun after it still failed."""
        ends = [*(one.began for one in self.happened), float("inf")][1:]
        return [
            (one.fault.name, _last_failure(self.failed, one.recovers_from, until) - one.recovers_from)
            for one, until in zip(self.happened, ends, strict=True)
        ]

    @property
    def worst_recovery_seconds(self) -> float:
        return max((seconds for _, seconds in self.recoveries()), default=0.0)


Expectation = Callable[[Aftermath], Check]


def by_balancer(fleet: Fleet) -> Sequence[int]:
    return [fleet.balancer.port]


def past_the_balancer(fleet: Fleet) -> Sequence[int]:
    return [node.port for node in fleet.nodes]


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the fault table."""

    number: int
    name: str
    load: Load
    faults: Sequence[Fault]
    # Begun after the last fault.
    calls_after: int
    # No fault begins later than this: on a slow machine there are fewer, and the row says how many.
    seconds_most: float = math.inf
    expects: Sequence[Expectation] = ()
    # Where calls go, in turn.
    ports: Callable[[Fleet], Sequence[int]] = by_balancer
    # Done before anybody calls.
    before: Act | None = None
    # Who calls; where nobody is named, the customers of the fleet.
    customers: Callable[[Fleet], Iterator[Customer]] | None = None
    # Done when no call is under way any more; says what is wrong, or nothing.
    afterwards: Act | None = None


def endure(fleet: Fleet, scenario: Scenario) -> Aftermath:
    """Let the faults happen under load, and judge the books when it is over."""
    say(f"F{scenario.number}, {scenario.name}: {scenario.load}, {len(scenario.faults)} faults")
    began_with = scenario.before(fleet) if scenario.before else None
    customers = scenario.customers(fleet) if scenario.customers else fleet.customers
    # A chance of their own: they draw from it while faults draw from the fleet's.
    callers = Callers(scenario.ports(fleet), customers, scenario.load, random.Random(fleet.chance.getrandbits(64)))
    memory_before, happened, said = fleet.memory_bytes(), list[Happened](), list[object]()
    until = time.monotonic() + scenario.seconds_most
    with calling(callers):
        for fault in scenario.faults:
            callers.wait_for_calls(fault.after_calls)
            began = time.monotonic()
            if began > until:
                say(f"{len(happened)} of {len(scenario.faults)} faults: there is no time for more")
                break
            said.append(fault.act(fleet))
            happened.append(Happened(fault=fault, began=began, ended=time.monotonic()))
            say(f"{callers.begun:,} calls begun; {fault.name}, {time.monotonic() - began:.1f} s")
        callers.wait_for_calls(scenario.calls_after)
    aftermath = Aftermath(
        placed=callers.placed,
        happened=happened,
        memory_growth_bytes=fleet.memory_bytes() - memory_before,
        tally=join(fleet, callers.placed),
        books_clean=books_are_clean(fleet.books),
        said=[str(each) for each in (began_with, *said, _afterwards(scenario, fleet)) if each],
    )
    tell(aftermath)
    return aftermath


def _afterwards(scenario: Scenario, fleet: Fleet) -> object:
    return scenario.afterwards(fleet) if scenario.afterwards else None


def row_of(scenario: Scenario, aftermath: Aftermath) -> Row:
    tally = aftermath.tally
    checks = [
        Check(BOOKS, aftermath.books_clean),
        Check("ledger, truth and callers agree", tally.is_clean, str(tally)),
        *(expects(aftermath) for expects in scenario.expects),
    ]
    done, wanted = len(aftermath.happened), len(scenario.faults)
    return Row(
        number=scenario.number,
        name=scenario.name if done == wanted else f"{scenario.name}, {done} of {wanted}",
        load=f"{tally.calls:,} at {scenario.load}",
        tally=tally,
        worst_recovery_seconds=aftermath.worst_recovery_seconds,
        checks=checks,
    )


def tell(aftermath: Aftermath) -> None:
    tally = aftermath.tally
    answers = Counter(f"{one.answer.status} {one.answer.code or one.answer.tail}" for one in aftermath.failed)
    say(f"{tally.served:,} of {tally.calls:,} served; the others: {dict(answers)}")
    if tally.in_flight or tally.unknown:
        say(f"{tally.in_flight} in flight when their worker died, of {tally.unknown} nobody knows whether it was sent")
    by_name = itertools.groupby(sorted(aftermath.recoveries()), key=lambda one: one[0])
    worst = {name: round(max(seconds for _, seconds in own), 1) for name, own in by_name}
    worst = {name: seconds for name, seconds in worst.items() if seconds}
    say(f"worst recovery, s: {worst or 'nobody noticed'}; memory {aftermath.memory_growth_bytes / 1e6:+.0f} MB")


def _last_failure(failed: Sequence[Placed], since: float, until: float) -> float:
    """Who was in flight when the next fault came is its victim."""
    return max((one.ended for one in failed if since <= one.begun and one.ended < until), default=since)
