"""Where the time of a call goes, with few callers and with many: by what the node's call log says of each call.

The middle is the fifth of the calls around the median, the tail those around the 99th percentile. What the callers see
beyond what the log knows is the server's, the sockets' and their own.
"""

import statistics
from collections.abc import Sequence

import msgspec

from proofs.rig.measuring.measured_orders import whole
from proofs.rig.patience import came_true
from proofs.rig.proof import say
from proofs.speed.rounds import Demand, Length, Rounds

CALLERS = (1, 8, 64)
MIDDLE = (0.4, 0.6)
TAIL = (0.985, 0.995)
WRITTEN_WITHIN_SECONDS = 10.0


class LoggedCall(msgspec.Struct, frozen=True):
    """What a line of the call log says of a call's time, in milliseconds."""

    milliseconds: float
    own_milliseconds: float
    # Of a call without limits, or without a hold, there is none.
    limits_milliseconds: float = 0.0
    hold_milliseconds: float = 0.0


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """Of a call in the middle, or in the tail, in milliseconds."""

    callers: int
    of: str
    provider: float
    limits: float
    hold: float
    own: float
    around: float

    @property
    def parts(self) -> dict[str, float]:
        """By name, in the order of the picture."""
        return {
            "provider": self.provider,
            "Redis": self.limits,
            "PostgreSQL": self.hold,
            "gateway": self.own,
            "server and sockets": self.around,
        }


decode = msgspec.json.Decoder(LoggedCall).decode


def taken_apart(rounds: Rounds, length: Length) -> list[Latency]:
    """Of calls without pause, for each number of callers."""
    return [each for callers in CALLERS for each in _with(rounds, length, callers)]


def _with(rounds: Rounds, length: Length, callers: int) -> list[Latency]:
    node, calls_before = rounds.stage.node, rounds.calls
    begun = node.log.stat().st_size
    turns = rounds.run([rounds.stage.full], Length(1, length.seconds), Demand(order=whole(), connections=callers))
    asked = rounds.calls - calls_before

    def logged() -> list[LoggedCall]:
        lines = node.log.read_bytes()[begun:].splitlines()
        return [decode(line) for line in lines if b'"own_milliseconds"' in line]

    came_true(lambda: len(logged()) >= asked, within_seconds=WRITTEN_WITHIN_SECONDS)
    calls = sorted(logged(), key=lambda call: call.milliseconds)
    seen = turns.median(lambda turn: turn["full"].p50_ms), turns.median(lambda turn: turn["full"].p99_ms)
    found = [
        _mean(calls, callers, "p50", MIDDLE, seen[0]),
        _mean(calls, callers, "p99", TAIL, seen[1]),
    ]
    for each in found:
        parts = ", ".join(f"{name} {ms:.2f}" for name, ms in each.parts.items())
        say(f"{callers} callers, {each.of}: {parts} ms")
    return found


def _mean(calls: Sequence[LoggedCall], callers: int, of: str, share: tuple[float, float], seen_ms: float) -> Latency:
    first, last = (int(len(calls) * part) for part in share)
    those = calls[first : max(last, first + 1)]
    own_ms = statistics.fmean(call.own_milliseconds for call in those)
    limits_ms = statistics.fmean(call.limits_milliseconds for call in those)
    hold_ms = statistics.fmean(call.hold_milliseconds for call in those)
    all_ms = statistics.fmean(call.milliseconds for call in those)
    return Latency(
        callers=callers,
        of=of,
        provider=max(0.0, all_ms - own_ms),
        limits=limits_ms,
        hold=hold_ms,
        own=max(0.0, own_ms - limits_ms - hold_ms),
        around=max(0.0, seen_ms - all_ms),
    )
