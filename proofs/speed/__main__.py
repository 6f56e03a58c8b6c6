"""prove-speed: what the gateway costs beside a bare proxy of the same parts, and that streams cost it little memory.

Gateway, bare proxy and nginx stand side by side, one worker each, on a core of their own before the same simulator, and
get the same requests in turns. Counted is the time on a core that their own processes used for each call, which a
machine shared with everything else does not blur as it blurs a rate. Books and memory are judged everywhere, timings by
hand and in full size. With PEERS=1, other gateways are measured as well. With BEFORE=REVISION, the present state is
compared with that one first; in small size nothing else is measured then.
"""

import os
import resource

from proofs.rig.deployment import books_are_clean
from proofs.rig.proof import NOT_REACHED, Run, prove, say
from proofs.speed import comparison, contestants, grown_books, latency, peers, plot, streams, trials
from proofs.speed.rounds import Rounds
from proofs.speed.sizes import IN_CI, SIZES, Size
from proofs.speed.verdict import missed

# The gateway holds thousands of streams, on both sides.
DESCRIPTORS = 16_384
# What another gateway costs, in calls of ours.
PEER_FIGURES = {"litellm": "peers_x", "portkey": "portkey_x"}
LAST_LINE = (
    "ratio",
    "total_us",
    "added_p50_ms",
    "added_p99_ms",
    "chunk_added_us",
    "big_ratio",
    "growth",
    "peers_x",
    "portkey_x",
)


def main(run: Run) -> int:
    allow_descriptors()
    status = 0
    if run.before is not None:
        status = comparison.compare(run.before, run)
        if status == comparison.NOTHING_TO_COMPARE or run.size == "small":
            return status
        run.figures = dict.fromkeys(LAST_LINE, NOT_REACHED) | run.figures
    with contestants.built() as built:
        proof = Proof(built, SIZES[run.size] if run.judges_timings else IN_CI, run)
        proof.run()
        proof.close_books()
    figures = proof.figures
    others = " ".join(f"{name}={shown(figure)}" for name, figure in figures.items() if name not in LAST_LINE)
    say(f"{others} books={'broken' if proof.failures else 'clean'}")
    failures = [*proof.failures, *missed(figures, timings=run.judges_timings)]
    for failure in failures:
        say(f"FAILED: {failure}")
    return 1 if failures else status


class Proof:
    """The trials one after another, and what they have shown."""

    def __init__(self, built: contestants.Stage, asked: Size, run: Run) -> None:
        self.figures: dict[str, float | None] = {}
        self.failures: list[str] = []
        self._stage = built
        self._run = run
        self._asked = asked
        self._rounds = Rounds(built)
        # Through the gateway beside the rounds.
        self._streams = 0

    def run(self) -> None:
        for trial in (self._idle, self._calls, self._stages, self._chunks, self._memory, self._workers, self._peers):
            trial()
            self._show()
            say(" ".join(f"{name}={shown(figure)}" for name, figure in self.figures.items()))
        self._growth()
        self._show()

    def _show(self) -> None:
        """What is known so far, for the last line."""
        self._run.figures |= {name: shown(self.figures[name]) for name in LAST_LINE if name in self.figures}

    def close_books(self) -> None:
        """What is still to be settled is settled when the node has stopped."""
        self._stage.node.stop()
        calls, receipts = self._calls_so_far, contestants.receipts(self._stage.settings)
        say(f"{calls} calls through the gateway, {receipts} receipts")
        if calls != receipts:
            self.failures.append(f"{calls} calls have {receipts} receipts")
        if not books_are_clean(self._stage.settings):
            self.failures.append("the books do not balance")

    @property
    def _calls_so_far(self) -> int:
        return self._rounds.calls + self._streams

    def _idle(self) -> None:
        self.figures["ready_s"] = round(self._stage.ready_seconds, 2)
        self.figures["idle_mb"] = round(self._stage.idle_bytes / 1e6, 1)

    def _calls(self) -> None:
        say("warming up")
        trials.at_full_speed(self._rounds, self._asked.warm)
        say("whole answers, as fast as they come")
        costs = trials.at_full_speed(self._rounds, self._asked.calls)
        self._note("cpu_us", costs.cpu_us)
        self._note("beside_us", costs.beside_us)
        self.figures |= {"ratio": round(costs.ratio, 2), "total_us": round(costs.total_us)}
        self.figures["per_s"] = round(costs.per_second)
        say("whole answers at a quarter of that rate")
        added = trials.added_ms(self._rounds, self._asked.latency, per_second=costs.per_second / 4)
        self.figures |= {"added_p50_ms": round(added.p50, 2), "added_p99_ms": round(added.p99, 2)}
        say(f"prompts of {trials.BIG_PROMPT_BYTES // 1_000} KB, {trials.BIG_CONNECTIONS} at once")
        self.figures["big_ratio"] = round(trials.big_ratio(self._rounds, self._asked.big), 2)
        self.figures["big_further_ratio"] = round(trials.further_ratio(self._rounds, self._asked.big), 2)

    def _stages(self) -> None:
        """Where it goes, for the pictures in the guide."""
        say("whole answers, taken apart")
        apart = latency.taken_apart(self._rounds, self._asked.apart)
        if not self._asked.profile_seconds:
            return
        say("stacks, sampled")
        found = trials.stage_shares(self._rounds, self._asked.profile_seconds)
        costs = {
            name: {stage: round(share * (self.figures[f"cpu_us_{name}"] or 0), 1) for stage, share in shares.items()}
            for name, shares in found.items()
        }
        plot.leave(plot.Costs(command="make prove-speed SIZE=full", latency=apart, **costs))
        say(f"{costs['full']}, written to {plot.FIGURES.name}")

    def _chunks(self) -> None:
        say("64 streams, a chunk each 10 ms")
        slow = trials.chunks(self._rounds, self._asked.chunks, streams=64, chunk_ms=10)
        self._note("chunk_us", slow.event_us)
        self.figures |= {"chunk_added_us": round(slow.added_us.p50), "chunk_added_p99_us": round(slow.added_us.p99)}
        say("256 streams, a chunk each 5 ms")
        fast = trials.chunks(self._rounds, self._asked.fast_chunks, streams=256, chunk_ms=5)
        self._note("fast_chunk_us", fast.event_us)

    def _memory(self) -> None:
        say("very long streams, and many at once")
        asked = self._asked
        self.figures["chunks_kb"] = round(streams.chunks_kb(self._stage, asked.long_streams), 1)
        found = streams.open_at_once(self._stage, asked.crowd)
        self.figures |= {"stream_kb": round(found.stream_kb, 1), "late_ms": round(found.late_ms, 1)}
        self._streams += asked.long_streams + asked.crowd.streams

    def _workers(self) -> None:
        say("a node of two workers")
        with contestants.another_node(self._stage, "two_workers", workers=2) as several:
            ratio = trials.several_workers(self._rounds, self._asked.workers, several)
        self.figures["two_workers"] = round(ratio, 2)

    def _peers(self) -> None:
        self.figures |= dict.fromkeys(PEER_FIGURES.values())
        if os.environ.get("PEERS") != "1":
            return
        for name, figure in PEER_FIGURES.items():
            say(f"another gateway: {name}")
            with peers.peer(name, self._stage) as peer:
                found = trials.beside_peer(self._rounds, self._asked.peer, peer)
            self.figures |= {f"cpu_us_{name}": round(found.cpu_us), figure: round(found.times, 1)}

    def _growth(self) -> None:
        """How much more a call costs when the books are full."""
        say("a thousand customers each, in young books and in full ones")
        found = grown_books.compare(self._stage, self._asked.grown)
        self.failures += found.failures
        growth = found.growth
        ratios = {"growth": growth.now_to_before, "growth_low": growth.low, "growth_high": growth.high}
        self.figures |= {"young_us": round(growth.before), "grown_us": round(growth.now)}
        self.figures |= {name: round(ratio, 3) for name, ratio in ratios.items()}

    def _note(self, name: str, by_subject: dict[str, float]) -> None:
        self.figures |= {f"{name}_{subject}": round(figure, 1) for subject, figure in by_subject.items()}


def shown(figure: float | None) -> str:
    return "-" if figure is None else f"{figure:g}"


def allow_descriptors() -> None:
    """For this process and all that it starts."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < DESCRIPTORS:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(DESCRIPTORS, hard), hard))


if __name__ == "__main__":
    prove(main, *LAST_LINE)
