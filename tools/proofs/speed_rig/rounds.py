"""Rounds: the same load on the bare proxy and on the gateway, in turns, so that the machine's moods meet both."""

import statistics
import subprocess
import sys
from collections.abc import Sequence

import msgspec

from tools.proofs import say
from tools.proofs.speed_rig.load import Measured, Plan
from tools.proofs.speed_rig.orders import Order, streamed, whole
from tools.proofs.speed_rig.stage import Stage, Subject

WARM_SECONDS = 0.5
MODEST_PER_SECOND = 200.0
PROVIDER_MS = 20
# Streams that speak without a pause, of two lengths; and slow ones, of which every event comes alone.
FAST_STREAMS, SLOW_STREAMS = 16, 32
FEW_CHUNKS, MANY_CHUNKS = 50, 450
CHUNK_MS = 10
# A slow stream outlasts its round by this much, so that all of them speak while it is measured.
SPARE_SECONDS = 1.5


class Length(msgspec.Struct, frozen=True):
    """How many pairs of rounds, and how long each round is."""

    pairs: int
    seconds: float


class Pair(msgspec.Struct, frozen=True):
    bare: Measured
    full: Measured


class Both(msgspec.Struct, frozen=True):
    """A figure of the bare proxy, and the same of the gateway."""

    bare: float
    full: float


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    cpu_us: Both
    ratio: float
    per_second: float
    beside_us: dict[str, float]


class Rounds:
    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        # Through the gateway: each must have its receipt.
        self.calls = 0

    def at_full_speed(self, length: Length) -> Costs:
        """What a call costs where every connection asks again at once."""
        pairs = self._pairs(length, whole())
        cpu_us = per_call_us(pairs)
        return Costs(
            cpu_us=cpu_us,
            ratio=statistics.median(
                pair.bare.cpu_us_per_call("bare") / pair.full.cpu_us_per_call("full") for pair in pairs
            ),
            per_second=statistics.median(pair.full.per_second for pair in pairs),
            beside_us={
                name: statistics.median(pair.full.cpu_us_per_call(name) for pair in pairs)
                for name in self._stage.beside
            },
        )

    def added_ms(self, length: Length) -> tuple[float, float]:
        """What the gateway adds to the time of a call, at p50 and p99, where nothing is short."""
        pairs = self._pairs(length, whole(delay_ms=PROVIDER_MS), per_second=MODEST_PER_SECOND)
        added_p50_ms = statistics.median(pair.full.p50_ms - pair.bare.p50_ms for pair in pairs)
        return added_p50_ms, statistics.median(pair.full.p99_ms - pair.bare.p99_ms for pair in pairs)

    def burst_event_us(self, length: Length) -> Both:
        """What one more event of a stream costs that speaks without a pause, so that many events come together."""
        few, many = (
            per_call_us(self._pairs(length, streamed(chunks), connections=FAST_STREAMS))
            for chunks in (FEW_CHUNKS, MANY_CHUNKS)
        )
        more = MANY_CHUNKS - FEW_CHUNKS
        return Both((many.bare - few.bare) / more, (many.full - few.full) / more)

    def lone_event_us(self, length: Length) -> Both:
        """What an event costs that comes alone: a chunk of its own, on both sides."""
        chunks = round((WARM_SECONDS + length.seconds + SPARE_SECONDS) * 1_000 / CHUNK_MS)
        pairs = self._pairs(length, streamed(chunks, chunk_ms=CHUNK_MS), connections=SLOW_STREAMS)
        alone = statistics.median(pair.full.first_events / pair.full.events for pair in pairs)
        say(f"{alone:.1%} of the events came alone")
        return Both(
            statistics.median(pair.bare.cpu_us_per_event("bare") for pair in pairs),
            statistics.median(pair.full.cpu_us_per_event("full") for pair in pairs),
        )

    def _pairs(
        self, length: Length, order: Order, *, per_second: float | None = None, connections: int | None = None
    ) -> list[Pair]:
        def measured(subject: Subject) -> Measured:
            plan = Plan(
                port=subject.port,
                keys=self._stage.keys[:connections],
                body=order.body,
                events=order.events,
                warm_seconds=WARM_SECONDS,
                seconds=length.seconds,
                per_second=per_second,
                watched=self._stage.beside | {subject.name: subject.pid},
            )
            found = run(plan)
            say(told(subject.name, found))
            return found

        pairs = [Pair(measured(self._stage.bare), measured(self._stage.full)) for _ in range(length.pairs)]
        self.calls += sum(pair.full.calls_in_all for pair in pairs)
        return pairs


def run(plan: Plan) -> Measured:
    done = subprocess.run(
        [sys.executable, "-m", "tools.proofs.speed_rig.load"],
        input=msgspec.json.encode(plan),
        stdout=subprocess.PIPE,
        timeout=plan.warm_seconds + plan.seconds + 60,
        check=True,
    )
    return msgspec.json.decode(done.stdout, type=Measured)


def told(name: str, found: Measured) -> str:
    shares = ", ".join(f"{name} {spent / found.seconds:.0%}" for name, spent in found.cpu_seconds.items())
    return (
        f"{name}: {found.per_second:.0f} calls/s, {found.events / found.seconds:.0f} events/s, "
        f"p50 {found.p50_ms:.1f} ms, p99 {found.p99_ms:.1f} ms; of a core: {shares}"
    )


def per_call_us(pairs: Sequence[Pair]) -> Both:
    return Both(
        statistics.median(pair.bare.cpu_us_per_call("bare") for pair in pairs),
        statistics.median(pair.full.cpu_us_per_call("full") for pair in pairs),
    )
