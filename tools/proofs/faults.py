"""prove-faults: whatever an upstream or a caller does, every call ends, is charged by its rule, and leaves nothing.

F6: an upstream that is late, breaks off, lies or talks nonsense. F9: the cut of long calls, with time scaled. F10:
callers who leave at a random byte. A node with two workers, stores of its own, and a simulator that keeps the truth.
"""

import random
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import msgspec

from tools.node import Node, tollkeeper
from tools.proofs import conclude, judges_timings, say, seed, size
from tools.proofs.fault_rig import cut, leaving, upstream_faults
from tools.proofs.fault_rig.caller import Heard, Order
from tools.proofs.fault_rig.descriptors import descriptors, wait_until_back
from tools.proofs.fault_rig.evidence import unbooked
from tools.proofs.fault_rig.ground import Customer, furnish
from tools.proofs.fault_rig.judge import Verdict, tell
from tools.proofs.fault_rig.rig import Rig

WARM_UP = 200
# Two workers' pools of connections for lookups may have grown to their size meanwhile.
DESCRIPTORS_LEFT_MOST = 16
CLOSED_MS_MOST = 1_000.0
# From the moment at which the cut is due until a caller far away on a busy machine has read it whole.
CUT_LATE_MS_MOST = 500.0


class Load(msgspec.Struct, frozen=True):
    calls: int
    per_second: float


class Size(msgspec.Struct, frozen=True):
    f6: Load
    f9: Load
    f10: Load


SIZES = {
    # Half of what two cores can do, which others may want as well.
    "small": Size(f6=Load(600, 100), f9=Load(200, 100), f10=Load(1_000, 125)),
    "full": Size(f6=Load(12_000, 200), f9=Load(10_000, 150), f10=Load(100_000, 200)),
}


class Found(msgspec.Struct):
    """What the three faults came to."""

    f6: list[Verdict] = []
    f9: list[Verdict] = []
    f10: list[Verdict] = []
    # Calls that reached the simulator and are in no receipt.
    unbooked: int = 0
    descriptors_left: int = 0
    cut_late_ms: list[float] = []
    closed_ms: list[float] = []

    @property
    def all(self) -> list[Verdict]:
        return [*self.f6, *self.f9, *self.f10]


def main() -> int:
    chosen = size()
    asked = SIZES[chosen]
    chance = random.Random(seed())
    with ExitStack() as stack:
        rig = Rig(stack)
        counts = (WARM_UP, asked.f6.calls, asked.f9.calls, asked.f10.calls)
        everybody = iter(furnish(rig.settings, rig.simulator.base, sum(counts), chance))
        warmers, f6, f9, f10 = ([next(everybody) for _ in range(count)] for count in counts)
        leavers, cold = leaving.cases(f10, chance), leaving.ON_A_COLD_NODE
        found = Found()
        with rig.node(upstream_faults.TIME_LIMITS) as node:
            heard = callers_leave(rig, node, leavers[:cold], asked.f10.per_second)
            with leaves_nothing(rig, node, warmers, found):
                upstream_misbehaves(rig, node, upstream_faults.cases(f6, chance), asked.f6.per_second, found)
                heard += callers_leave(rig, node, leavers[cold:], asked.f10.per_second)
                leavers_are_charged(rig, leavers, heard, found)
        with rig.node(cut.TIME_LIMITS) as node:
            calls_are_cut(rig, node, cut.cases(f9, chance), asked.f9.per_second, found)
        found.unbooked = unbooked(rig.settings, rig.simulator)
        books = tollkeeper(rig.settings, "books", "check")
    if books.returncode:
        say(books.stdout + books.stderr)
    return verdict(found, rig.stuck_nodes, books_clean=books.returncode == 0, timed=judges_timings(chosen))


def upstream_misbehaves(
    rig: Rig, node: Node, cases: Sequence[upstream_faults.Case], per_second: float, found: Found
) -> None:
    say("F6: the upstream misbehaves")
    orders = [case.order for case in cases]
    faulty, usual = orders[: -upstream_faults.USUAL_AT_THE_END], orders[-upstream_faults.USUAL_AT_THE_END :]
    heard = rig.load(node, faulty, per_second=per_second, at_once=upstream_faults.AT_ONCE)
    heard += rig.load(node, usual, per_second=per_second, at_once=upstream_faults.AT_ONCE)
    found.f6 = upstream_faults.judged(cases, rig.evidence(orders, heard))


def callers_leave(rig: Rig, node: Node, cases: Sequence[leaving.Case], per_second: float) -> list[Heard]:
    say("F10: callers leave")
    return rig.load(node, [case.order for case in cases], per_second=per_second, at_once=leaving.AT_ONCE)


def leavers_are_charged(rig: Rig, cases: Sequence[leaving.Case], heard: Sequence[Heard], found: Found) -> None:
    evidence = rig.evidence([case.order for case in cases], heard)
    found.f10 = leaving.judged(cases, evidence)
    found.closed_ms = [seconds * 1_000 for seconds in leaving.seconds_until_closed(cases, evidence)]
    say(f"{len(found.closed_ms):,} upstream calls were closed for callers who had left")
    say(
        f"{leaving.given_up(evidence):,} were given up while they were being sent, {leaving.unheard(evidence):,} unread"
    )


def calls_are_cut(rig: Rig, node: Node, cases: Sequence[cut.Case], per_second: float, found: Found) -> None:
    say("F9: calls are cut")
    orders = [case.order for case in cases]
    evidence = rig.evidence(orders, rig.load(node, orders, per_second=per_second, at_once=cut.AT_ONCE))
    found.f9 = cut.judged(cases, evidence)
    found.cut_late_ms = [(seconds - cut.CUT_SECONDS) * 1_000 for seconds in cut.cut_after_seconds(evidence)]
    say(f"{len(found.cut_late_ms):,} calls were cut, at most {max(found.cut_late_ms, default=0):.0f} ms late")


@contextmanager
def leaves_nothing(rig: Rig, node: Node, warmers: Sequence[Customer], found: Found) -> Iterator[None]:
    """What the workers hold open after the load is what they held open before it, when all pools were full."""
    plain = [Order(customer=warmer, text="Say something.", stream=True) for warmer in warmers]
    rig.load(node, plain, per_second=1_000, at_once=WARM_UP)
    before = descriptors(node, rig.simulator.port)
    yield
    say("waiting until connections that are kept for the next call are let go")
    found.descriptors_left = wait_until_back(node, rig.simulator.port, before, most=DESCRIPTORS_LEFT_MOST)
    say(f"before {before}, after {descriptors(node, rig.simulator.port)}")


def verdict(found: Found, stuck_nodes: int, *, books_clean: bool, timed: bool) -> int:
    """Print the figures; 0 if everything held."""
    tell(found.all)
    closed_p99_ms = found.closed_ms[int(len(found.closed_ms) * 0.99)]
    wrong = count_wrong(found.all)
    hung = sum(one.hung for one in found.all) + stuck_nodes
    diff = sum(one.diff for one in found.all)
    unbilled = sum(one.unbilled for one in found.f10) + found.unbooked
    conclude(
        {
            "f6_calls": len(found.f6),
            "f6_wrong": count_wrong(found.f6),
            "hung": hung,
            "fds_left": found.descriptors_left,
            "f9_calls": len(found.f9),
            "f9_wrong": count_wrong(found.f9),
            "f10_calls": len(found.f10),
            "f10_unbilled": unbilled,
            "f10_wrong": count_wrong(found.f10),
            "closed_p99_ms": round(closed_p99_ms, 1),
            "closed_max_ms": round(found.closed_ms[-1], 1),
            "diff": diff,
            "books": "clean" if books_clean else "broken",
        }
    )
    held = not (wrong or hung or unbilled or diff) and books_clean and found.descriptors_left <= DESCRIPTORS_LEFT_MOST
    in_time = found.closed_ms[-1] <= CLOSED_MS_MOST and max(found.cut_late_ms, default=0.0) <= CUT_LATE_MS_MOST
    return 0 if held and (in_time or not timed) else 1


def count_wrong(verdicts: Sequence[Verdict]) -> int:
    return sum(bool(verdict.problems) for verdict in verdicts)


if __name__ == "__main__":
    sys.exit(main())
