"""F6, F9 and F10: whatever an upstream or a caller does to one call, it ends, is charged by its rule, leaves nothing.

A node with two workers, stores of its own, and a simulator that keeps the truth.
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
from proofs.faults.rows import BOOKS, Row, Tally
from proofs.rig.chat import Heard, Order
from proofs.rig.checks import Check
from proofs.rig.customers import Customer
from proofs.rig.deployment import books_are_clean
from proofs.rig.measuring.stolen import Watch
from proofs.rig.proof import Run, say
from tools.node import Node

WARM_UP = 200
# Two workers' pools of connections for lookups may have grown to their size meanwhile.
DESCRIPTORS_LEFT_MOST = 16
CLOSED_MS_MOST = 1_000.0
# Of all that leave. A gateway that looks for leavers misses none, unless the machine holds it up for 400 ms.
UNNOTICED_SHARE_MOST = 0.001
# How many of the slowest are told one by one.
SLOWEST = 5
# From the moment at which the cut is due until a caller far away on a busy machine has read it whole.
CUT_LATE_MS_MOST = 500.0
FIGURES = (
    *("f6_calls", "f6_wrong", "hung", "fds_left", "f9_calls", "f9_wrong", "f10_calls", "f10_unbilled", "f10_wrong"),
    *("closed_p99_ms", "closed_max_ms"),
)


class Amount(msgspec.Struct, frozen=True):
    calls: int
    per_second: float


class Size(msgspec.Struct, frozen=True):
    f6: Amount
    f9: Amount
    f10: Amount


SIZES = {
    # Half of what two cores can do, which others may want as well.
    "small": Size(f6=Amount(600, 100), f9=Amount(200, 100), f10=Amount(1_000, 125)),
    "full": Size(f6=Amount(12_000, 200), f9=Amount(10_000, 150), f10=Amount(100_000, 200)),
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
    # Answers that were completed although their callers had left long before.
    unnoticed: int = 0

    @property
    def all(self) -> list[Verdict]:
        return [*self.f6, *self.f9, *self.f10]

    @property
    def hung(self) -> int:
        """Calls without an end, and nodes that waited for one."""
        return sum(one.hung for one in self.all) + self.stuck_nodes

    @property
    def unbilled(self) -> int:
        return sum(one.unbilled for one in self.f10) + self.unbooked


def rows_of_one_node(run: Run, chance: random.Random) -> list[Row]:
    asked = SIZES[run.size]
    with ExitStack() as stack:
        bench, watch = Bench(stack), stack.enter_context(Watch())
        counts = (WARM_UP, asked.f6.calls, WARM_UP, asked.f9.calls, asked.f10.calls)
        everybody = iter(bench.furnish(sum(counts), chance))
        warmers, f6, others, f9, f10 = ([next(everybody) for _ in range(count)] for count in counts)
        leavers, cold = leaving.cases(f10, chance), leaving.ON_A_COLD_NODE
        found = Found()
        with bench.node(upstream_faults.TIME_LIMITS) as node:
            heard = callers_leave(bench, node, leavers[:cold], asked.f10.per_second)
            with leaves_nothing(bench, node, warmers, found):
                upstream_misbehaves(bench, node, upstream_faults.cases(f6, chance), asked.f6.per_second, found)
                heard += callers_leave(bench, node, leavers[cold:], asked.f10.per_second)
                leavers_are_charged(bench, leavers, heard, found, watch)
                run.figures |= figures(found)
        with bench.node(cut.TIME_LIMITS) as node:
            warm_up(bench, node, others)
            calls_are_cut(bench, node, cut.cases(f9, chance), asked.f9.per_second, found)
        found.unbooked = unbooked(bench.settings, bench.simulator)
        found.stuck_nodes = bench.stuck_nodes
        run.figures |= figures(found)
        books = Check(BOOKS, books_are_clean(bench.settings))
    tell(found.all)
    return rows_of(found, asked, books)


def rows_of(found: Found, asked: Size, books: Check) -> list[Row]:
    closed_ms = max(found.closed_ms, default=0.0)
    late_ms = max(found.cut_late_ms, default=0.0)
    left = found.descriptors_left
    most_unnoticed = UNNOTICED_SHARE_MOST * len(found.f10)
    return [
        Row(
            number=6,
            name="the upstream misbehaves",
            load=f"{asked.f6.calls:,} at {asked.f6.per_second:g}/s",
            tally=tally_of(found.f6),
            checks=[
                *(books, right(found.f6)),
                Check("nothing is hung", not found.hung, f"{found.hung}"),
                Check("descriptors are back", left <= DESCRIPTORS_LEFT_MOST, f"{left} left"),
            ],
        ),
        Row(
            number=9,
            name="the cut of long calls",
            load=f"{asked.f9.calls:,} at {asked.f9.per_second:g}/s",
            tally=tally_of(found.f9),
            checks=[
                *(books, right(found.f9)),
                Check("cut in time", late_ms <= CUT_LATE_MS_MOST, f"{late_ms:.0f} ms late", timed=True),
            ],
        ),
        Row(
            number=10,
            name="callers leave",
            load=f"{asked.f10.calls:,} at {asked.f10.per_second:g}/s",
            tally=tally_of(found.f10, unbooked=found.unbooked),
            checks=[
                *(books, right(found.f10)),
                Check("nobody leaves unbilled", not found.unbilled, f"{found.unbilled}"),
                Check("leaving is noticed", found.unnoticed <= most_unnoticed, f"{found.unnoticed} not", timed=True),
                Check("upstream is closed in time", closed_ms <= CLOSED_MS_MOST, f"{closed_ms:.0f} ms", timed=True),
            ],
        ),
    ]


def right(verdicts: Sequence[Verdict]) -> Check:
    wrong = count_wrong(verdicts)
    return Check("each call ends and is charged by its rule", not wrong, f"{wrong} did not")


def tally_of(verdicts: Sequence[Verdict], *, unbooked: int = 0) -> Tally:
    return Tally(
        calls=len(verdicts),
        served=sum(one.status == 200 for one in verdicts),
        refused=sum(one.status >= 400 for one in verdicts),
        lost=sum(one.unbilled for one in verdicts) + unbooked,
        hung=sum(one.hung for one in verdicts),
        diff=sum(one.diff for one in verdicts),
    )


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


def leavers_are_charged(
    bench: Bench, cases: Sequence[leaving.Case], heard: Sequence[Heard], found: Found, watch: Watch
) -> None:
    evidence = bench.evidence([case.order for case in cases], heard)
    found.f10 = leaving.judged(cases, evidence)
    closings = leaving.closings(cases, evidence)
    found.closed_ms = [closing.seconds * 1_000 for closing in closings]
    found.unnoticed = leaving.unnoticed(cases, evidence)
    say(f"{len(found.closed_ms):,} upstream calls were closed for callers who had left; {found.unnoticed:,} unnoticed")
    say(
        f"{leaving.given_up(evidence):,} were given up while they were being sent, {leaving.unheard(evidence):,} unread"
    )
    for closing in closings[-SLOWEST:]:
        stolen = watch.stolen_between(closing.left_at, closing.closed_at)
        say(f"closed after {closing.seconds * 1_000:.0f} ms, of which other guests of the machine had {stolen:.2f} s")


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
    warm_up(bench, node, warmers)
    before = descriptors(node, bench.simulator.port)
    yield
    say("waiting until connections that are kept for the next call are let go")
    found.descriptors_left = wait_until_back(node, bench.simulator.port, before, most=DESCRIPTORS_LEFT_MOST)
    say(f"before {before}, after {descriptors(node, bench.simulator.port)}")


def warm_up(bench: Bench, node: Node, warmers: Sequence[Customer]) -> None:
    """Call it until all its pools are full. The first statements of a connection and the first choice of an account
    take far longer than later ones, and whoever comes meanwhile waits for them: on a busy machine two seconds."""
    plain = [Order(customer=warmer, text="Say something.", stream=True) for warmer in warmers]
    bench.load(node, plain, per_second=1_000, at_once=WARM_UP)


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
    }


def count_wrong(verdicts: Sequence[Verdict]) -> int:
    return sum(bool(verdict.problems) for verdict in verdicts)
