"""The comparison: what a call costs in the present state, beside the same call in a state before.

The speed of a machine moves by a third within the hour, so that figures of two runs cannot be compared. Both states
are up at the same time, each over stores of its own, before the same simulator, and get the same load in short turns;
whose turn it is not stands idle.
"""

import statistics
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial

import msgspec

from proofs.rig.customers import PROVIDER_KEY
from proofs.rig.deployment import started
from proofs.rig.measuring.cores import split
from proofs.rig.measuring.measured_orders import streamed, whole
from proofs.rig.measuring.stolen import CALM_SHARE_MOST, calmest
from proofs.rig.proof import Run, say
from proofs.speed import rounds
from proofs.speed.bare import BareProxy
from proofs.speed.contestants import Subject
from proofs.speed.paired import Compared, compared, in_order, table
from proofs.speed.rounds import Demand, Length
from proofs.speed.states import PRESENT, Party, checked_out, commit_of, stand
from proofs.speed.timed_load import Measured, Plan
from proofs.speed.trials import BIG_CONNECTIONS, BIG_PROMPT_BYTES, PROVIDER_MS, SPARE_SECONDS, STORES
from tools.simulator import Simulator

BEFORE, NOW, BARE = "before", "now", "bare"
# Worse than this is too much; the noise of one run is about a tenth.
WORSE_AT_MOST = 1.10
WARM_UP = Length(1, 3)
CHUNK_MS = 10
# Before a turn counts. What the turn before has left to settle is settled within 20 ms.
WARM_SECONDS = 0.3
# By one process of callers; between them it says how far it is.
ROUNDS_AT_ONCE = 10
# Rounds in which other guests had too much of the machine are made once more, until so many times as many were made.
TIMES_MOST = 2
# The exit status where the revision names no commit.
NOTHING_TO_COMPARE = 2
LAST_LINE = (
    *("total_us", "total_vs_before", "total_vs_before_low", "total_vs_before_high"),
    *("gateway_vs_before", "chunk_vs_before", "big_vs_before", "light_vs_before", "added_p50_light_ms"),
)

Turn = dict[str, Measured]


class Size(msgspec.Struct, frozen=True, kw_only=True):
    calls: Length
    latency: Length
    light: Length
    chunks: Length
    big: Length


# Many short turns rather than few long ones: the closer the two of a pair, the more alike is the machine.
# Even numbers: each is first as often as the other, and to be first may cost something.
SIZES = {
    "small": Size(
        calls=Length(50, 0.5), latency=Length(12, 1), light=Length(12, 1), chunks=Length(12, 1), big=Length(12, 1)
    ),
    "full": Size(
        calls=Length(120, 1), latency=Length(24, 1), light=Length(24, 1), chunks=Length(20, 1), big=Length(24, 1)
    ),
}


def compare(revision: str, run: Run) -> int:
    """The exit status."""
    run.expect(*LAST_LINE)
    commit = commit_of(revision)
    if commit is None:
        say(f"FAILED: BEFORE={revision} names no commit of this repository. Give a branch, a tag or a commit.")
        return NOTHING_TO_COMPARE
    say(f"the present state, and {revision} ({commit[:12]})")
    figures = measured(commit, SIZES[run.size])
    for line in table(figures):
        say(line)
    total = figures[0]
    failed = run.judges_timings and total.low > WORSE_AT_MOST
    if failed:
        say(f"FAILED: a call costs more than before, {total.low:.3f} times as much at least; {WORSE_AT_MOST:g} may be")
    by_name = {each.name: each for each in figures}
    ratios = {"gateway_us": "gateway", "chunk_us": "chunk", "big_us": "big", "added_p50_light_ms": "light"}
    run.figures |= {f"{short}_vs_before": round(by_name[name].now_to_before, 3) for name, short in ratios.items()}
    run.figures |= {
        "added_p50_light_ms": round(by_name["added_p50_light_ms"].now, 2),
        "total_us": round(total.now),
        "total_vs_before": round(total.now_to_before, 3),
        "total_vs_before_low": round(total.low, 3),
        "total_vs_before_high": round(total.high, 3),
    }
    return 1 if failed else 0


def measured(commit: str, size: Size) -> list[Compared]:
    """The first figure is the whole cost of a call."""
    with ExitStack() as stack:
        cores = stack.enter_context(split())
        root = stack.enter_context(checked_out(commit))
        simulator = started(stack, Simulator(key=PROVIDER_KEY))
        before = stand(stack, cores, BEFORE, root, simulator.base)
        now = stand(stack, cores, NOW, PRESENT, simulator.base)
        with cores.start_measured():
            proxy = stack.enter_context(BareProxy(simulator.base, PROVIDER_KEY))
        bare = Party(Subject(BARE, proxy.port, proxy.process.pid), now.keys, {})
        say("warming up")
        in_turns([before, now], WARM_UP, Demand(order=whole()))
        say("whole answers, as fast as they come")
        calls = calm_turns([before, now], size.calls, Demand(order=whole()))
        say("whole answers at a quarter of that rate")
        rate = min(statistics.median(turn[name].per_second for turn in calls) for name in (BEFORE, NOW)) / 4
        demand = Demand(order=whole(delay_ms=PROVIDER_MS), per_second=rate)
        modest = calm_turns([before, now], size.latency, demand, bare)
        say("whole answers, one caller")
        lone = calm_turns([before, now], size.light, Demand(order=whole(), connections=1), bare)
        say(f"streams, a chunk each {CHUNK_MS} ms")
        streams = calm_turns([before, now], size.chunks, speaking(size.chunks.seconds))
        say("long prompts that nobody has sent before")
        long = Demand(order=whole(prompt_bytes=BIG_PROMPT_BYTES), connections=BIG_CONNECTIONS)
        big = calm_turns([before, now], size.big, long)
    return [
        *costs(calls),
        figure("added_p50_ms", modest, added_ms),
        figure("added_p50_light_ms", lone, added_ms),
        figure("chunk_us", streams, chunk_us),
        figure("big_us", big, whole_us),
    ]


def costs(turns: Sequence[Turn]) -> list[Compared]:
    """Of a call, where every connection asks again at once: all of it first, then by who has the cost."""
    stores = [figure(f"{store}_us", turns, partial(store_us, store)) for store in STORES]
    return [figure("total_us", turns, whole_us), figure("gateway_us", turns, gateway_us), *stores]


def figure(name: str, turns: Sequence[Turn], of: Callable[[Turn, str], float]) -> Compared:
    return compared(name, [(of(turn, BEFORE), of(turn, NOW)) for turn in turns])


def whole_us(turn: Turn, party: str) -> float:
    return turn[party].cpu_us_per_call(party, *STORES)


def gateway_us(turn: Turn, party: str) -> float:
    return turn[party].cpu_us_per_call(party)


def store_us(store: str, turn: Turn, party: str) -> float:
    return turn[party].cpu_us_per_call(store)


def added_ms(turn: Turn, party: str) -> float:
    return turn[party].p50_ms - turn[BARE].p50_ms


def chunk_us(turn: Turn, party: str) -> float:
    return turn[party].cpu_us_per_event(party)


def speaking(seconds: float) -> Demand:
    """Streams that outlast their turn."""
    count = round((WARM_SECONDS + seconds + SPARE_SECONDS) * 1_000 / CHUNK_MS)
    return Demand(order=streamed(count, chunk_ms=CHUNK_MS), begin_within_seconds=WARM_SECONDS / 2)


def calm_turns(parties: Sequence[Party], length: Length, demand: Demand, beside: Party | None = None) -> list[Turn]:
    """Of the rounds that are made those that count."""
    return counted(in_turns(parties, length, demand, beside), length)


def in_turns(parties: Sequence[Party], length: Length, demand: Demand, beside: Party | None = None) -> list[Turn]:
    """Each party once in every round, and before them the one beside which they are measured, if any; more rounds than
    were asked for where some were not calm."""
    turns: list[Turn] = []
    while calm(turns) < length.rounds and len(turns) < length.rounds * TIMES_MOST:
        numbers = range(len(turns), len(turns) + min(length.rounds - calm(turns), ROUNDS_AT_ONCE))
        some = [[*([beside] if beside else []), *in_order(number, parties)] for number in numbers]
        found = iter(rounds.run([plan(party, length.seconds, demand) for row in some for party in row]))
        turns += [{party.subject.name: next(found) for party in row} for row in some]
        say(f"round {len(turns)}: " + ", ".join(told(name, measured) for name, measured in turns[-1].items()))
    return turns


def counted(turns: Sequence[Turn], length: Length) -> list[Turn]:
    """So many rounds as were asked for: the calmest."""
    found = calmest(turns, length.rounds, stolen_share)
    most = max(map(stolen_share, found))
    say(f"{len(found)} of {len(turns)} rounds count; other guests had {most:.1%} of the machine at most in each")
    return found


def calm(turns: Sequence[Turn]) -> int:
    return sum(stolen_share(turn) <= CALM_SHARE_MOST for turn in turns)


def stolen_share(turn: Turn) -> float:
    """Of the worst of its parties' turns."""
    return max(measured.stolen_share for measured in turn.values())


def plan(party: Party, seconds: float, demand: Demand) -> Plan:
    return Plan(
        port=party.subject.port,
        connections=demand.connections,
        keys=party.keys,
        body=demand.order.body,
        events=demand.order.events,
        begin_within_seconds=demand.begin_within_seconds,
        warm_seconds=WARM_SECONDS,
        seconds=seconds,
        per_second=demand.per_second,
        watched=party.beside | {party.subject.name: party.subject.pid},
    )


def told(name: str, found: Measured) -> str:
    rate = max(found.calls, found.events) / found.seconds
    return f"{name} {rate:.0f}/s on {found.cpu_seconds[name] / found.seconds:.0%} of a core"
