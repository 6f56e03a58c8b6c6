"""prove-faults: whatever an upstream or a caller does, every call ends, is charged by its rule, and leaves nothing.

F6: an upstream that is late, breaks off, lies or talks nonsense. F9: the cut of long calls, with time scaled. F10:
callers who leave at a random byte. A node with two workers, stores of its own, and a simulator that keeps the truth.
"""

import random
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import msgspec

from proofs.faults import cut, leaving, upstream_faults
from proofs.faults.bench import Bench
from proofs.faults.descriptors import descriptors, wait_until_back
from proofs.faults.evidence import unbooked
from proofs.faults.outcomes import Verdict, tell
from proofs.rig.chat import Heard, Order
from proofs.rig.customers import Customer
from proofs.rig.deployment import books_are_clean
from proofs.rig.proof import Run, prove, say, seed
from tools.node import Node

WARM_UP = 200
# Two workers' pools of connections for lookups may have grown to their size meanwhile.
DESCRIPTORS_LEFT_MOST = 16
CLOSED_MS_MOST = 1_000.0
# From the moment at which the cut is due until a caller far away on a busy machine has read it whole.
CUT_LATE_MS_MOST = 500.0
LAST_LINE = (
    *("f6_calls", "f6_wrong", "hung", "fds_left", "f9_calls", "f9_wrong", "f10_calls", "f10_unbilled", "f10_wrong"),
    *("closed_p99_ms", "closed_max_ms", "diff", "books"),
)


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
    stuck_nodes: int = 0
    descriptors_left: int = 0
    cut_late_ms: list[float] = []
    closed_ms: list[float] = []

    @property
    def all(self) -> list[Verdict]:
        return [*self.f6, *self.f9, *self.f10]

    @property
    def hung(self) -> int:
        """Calls without an end, and nodes that waited for one."""
        return sum(one.hung for one in self.all) + self.stuck_nodes

    @property
    def diff(self) -> int:
        return sum(one.diff for one in self.all)

    @property
    def unbilled(self) -> int:
        return sum(one.unbilled for one in self.f10) + self.unbooked


def main(run: Run) -> int:
    asked = SIZES[run.size]
    chance = random.Random(seed())
    with ExitStack() as stack:
        bench = Bench(stack)
        counts = (WARM_UP, asked.f6.calls, asked.f9.calls, asked.f10.calls)
        everybody = iter(bench.furnish(sum(counts), chance))
        warmers, f6, f9, f10 = ([next(everybody) for _ in range(count)] for count in counts)
        leavers, cold = leaving.cases(f10, chance), leaving.ON_A_COLD_NODE
        found = Found()
        with bench.node(upstream_faults.TIME_LIMITS) as node:
            heard = callers_leave(bench, node, leavers[:cold], asked.f10.per_second)
            with leaves_nothing(bench, node, warmers, found):
                upstream_misbehaves(bench, node, upstream_faults.cases(f6, chance), asked.f6.per_second, found)
                heard += callers_leave(bench, node, leavers[cold:], asked.f10.per_second)
                leavers_are_charged(bench, leavers, heard, found)
                run.figures |= figures(found)
        with bench.node(cut.TIME_LIMITS) as node:
            calls_are_cut(bench, node, cut.cases(f9, chance), asked.f9.per_second, found)
        found.unbooked = unbooked(bench.settings, bench.simulator)
        found.stuck_nodes = bench.stuck_nodes
        run.figures |= figures(found)
        books_clean = books_are_clean(bench.settings)
    run.figures["books"] = "clean" if books_clean else "broken"
    tell(found.all)
    return 0 if books_clean and holds(found, timed=run.judges_timings) else 1


def upstream_misbehaves(
    bench: Bench, node: Node, cases: Sequence[upstream_faults.Case], per_second: float, found: Found
) -> None:
    say("F6: the upstream misbehaves")
    orders = [case.order for case in cases]
    faulty, usual = orders[: -upstream_faults.USUAL_AT_THE_END], orders[-upstream_faults.USUAL_AT_THE_END :]
    heard = bench.load(node, faulty, per_second=per_second, at_once=upstream_faults.AT_ONCE)
    heard += bench.load(node, usual, per_second=per_second, at_once=upstream_faults.AT_ONCE)
    found.f6 = upstream_faults.judged(cases, bench.evidence(orders, heard))


def callers_leave(bench: Bench, node: Node, cases: Sequence[leaving.Case], per_second: float) -> list[Heard]:
    say("F10: callers leave")
    return bench.load(node, [case.order for case in cases], per_second=per_second, at_once=leaving.AT_ONCE)


def leavers_are_charged(bench: Bench, cases: Sequence[leaving.Case], heard: Sequence[Heard], found: Found) -> None:
    evidence = bench.evidence([case.order for case in cases], heard)
    found.f10 = leaving.judged(cases, evidence)
    found.closed_ms = [seconds * 1_000 for seconds in leaving.seconds_until_closed(cases, evidence)]
    say(f"{len(found.closed_ms):,} upstream calls were closed for callers who had left")
    say(
        f"{leaving.given_up(evidence):,} were given up while they were being sent, {leaving.unheard(evidence):,} unread"
    )


def calls_are_cut(bench: Bench, node: Node, cases: Sequence[cut.Case], per_second: float, found: Found) -> None:
    say("F9: calls are cut")
    orders = [case.order for case in cases]
    evidence = bench.evidence(orders, bench.load(node, orders, per_second=per_second, at_once=cut.AT_ONCE))
    found.f9 = cut.judged(cases, evidence)
    found.cut_late_ms = [(seconds - cut.CUT_SECONDS) * 1_000 for seconds in cut.cut_after_seconds(evidence)]
    say(f"{len(found.cut_late_ms):,} calls were cut, at most {max(found.cut_late_ms, default=0):.0f} ms late")


@contextmanager
def leaves_nothing(bench: Bench, node: Node, warmers: Sequence[Customer], found: Found) -> Iterator[None]:
    """What the workers hold open after the load is what they held open before it, when all pools were full."""
    plain = [Order(customer=warmer, text="Say something.", stream=True) for warmer in warmers]
    bench.load(node, plain, per_second=1_000, at_once=WARM_UP)
    before = descriptors(node, bench.simulator.port)
    yield
    say("waiting until connections that are kept for the next call are let go")
    found.descriptors_left = wait_until_back(node, bench.simulator.port, before, most=DESCRIPTORS_LEFT_MOST)
    say(f"before {before}, after {descriptors(node, bench.simulator.port)}")


def figures(found: Found) -> dict[str, object]:
    closed_ms = found.closed_ms or [0.0]
    return {
        "f6_calls": len(found.f6),
        "f6_wrong": count_wrong(found.f6),
        "hung": found.hung,
        "fds_left": found.descriptors_left,
        "f9_calls": len(found.f9),
        "f9_wrong": count_wrong(found.f9),
        "f10_calls": len(found.f10),
        "f10_unbilled": found.unbilled,
        "f10_wrong": count_wrong(found.f10),
        "closed_p99_ms": round(closed_ms[int(len(closed_ms) * 0.99)], 1),
        "closed_max_ms": round(closed_ms[-1], 1),
        "diff": found.diff,
    }


def holds(found: Found, *, timed: bool) -> bool:
    """Whether everything held. `timed`: also what depends on how busy the machine is."""
    wrong = count_wrong(found.all) or found.hung or found.unbilled or found.diff
    in_time = found.closed_ms[-1] <= CLOSED_MS_MOST and max(found.cut_late_ms, default=0.0) <= CUT_LATE_MS_MOST
    return not wrong and found.descriptors_left <= DESCRIPTORS_LEFT_MOST and (in_time or not timed)


def count_wrong(verdicts: Sequence[Verdict]) -> int:
    return sum(bool(verdict.problems) for verdict in verdicts)


if __name__ == "__main__":
    prove(main, *LAST_LINE)
