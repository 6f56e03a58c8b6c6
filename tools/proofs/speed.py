"""prove-speed: what the gateway costs beside a bare proxy of the same parts, and that streams cost it little memory.

Both stand side by side, one worker each, before the same simulator, and get the same requests in turns. Counted is the
time on a core that their own processes used for each call, which two cores shared with everything else do not blur as
they blur a rate. Memory is asserted everywhere, timings by hand and in full size.
"""

import resource
import sys

import msgspec

from tools.node import tollkeeper
from tools.proofs import conclude, judges_timings, say, size
from tools.proofs.speed_rig import stage, streams
from tools.proofs.speed_rig.rounds import Length, Rounds

STREAM_KB_MOST = 64
CHUNKS_KB_MOST = 64
RATIO_LEAST = 0.2
# The gateway and the simulator hold a thousand streams, the gateway on both sides.
DESCRIPTORS = 4_096


class Size(msgspec.Struct, frozen=True, kw_only=True):
    warm: Length
    calls: Length
    latency: Length
    bursts: Length
    chunks: Length


SIZES = {
    "small": Size(
        warm=Length(1, 1), calls=Length(3, 3), latency=Length(2, 3), bursts=Length(1, 2), chunks=Length(2, 2)
    ),
    "full": Size(
        warm=Length(1, 10), calls=Length(5, 30), latency=Length(5, 30), bursts=Length(5, 10), chunks=Length(5, 30)
    ),
}


def main() -> int:
    chosen = size()
    asked = SIZES[chosen]
    allow_descriptors()
    with stage.built() as built:
        rounds = Rounds(built)
        say("warming up")
        rounds.at_full_speed(asked.warm)
        say("whole answers, as fast as they come")
        costs = rounds.at_full_speed(asked.calls)
        say("whole answers at a modest rate")
        added_p50_ms, added_p99_ms = rounds.added_ms(asked.latency)
        say("streams, fast and slow")
        burst_us, lone_us = rounds.burst_event_us(asked.bursts), rounds.lone_event_us(asked.chunks)
        say("very long streams, and many at once")
        chunks_kb, stream_kb = streams.chunks_kb(built), streams.stream_kb(built)

        # What is still to be settled is settled when it has stopped.
        built.node.stop()
        calls, receipts = rounds.calls + streams.STREAMS_IN_ALL, stage.receipts(built)
        say(f"{calls} calls through the gateway, {receipts} receipts")
        check = tollkeeper(built.settings, "books", "check")
        clean = check.returncode == 0 and calls == receipts

    say(" ".join(f"cpu_us_{name}={spent:.0f}" for name, spent in costs.beside_us.items()))
    say(f"chunk_us_bare={lone_us.bare:.1f} chunk_us_full={lone_us.full:.1f}")
    say(f"burst_event_us_bare={burst_us.bare:.1f} burst_event_us_full={burst_us.full:.1f}")
    conclude(
        {
            "cpu_us_bare": round(costs.cpu_us.bare),
            "cpu_us_full": round(costs.cpu_us.full),
            "ratio": round(costs.ratio, 2),
            "added_p50_ms": round(added_p50_ms, 2),
            "added_p99_ms": round(added_p99_ms, 2),
            "chunk_added_us": round(lone_us.full - lone_us.bare, 1),
            "per_s": round(costs.per_second),
            "stream_kb": round(stream_kb, 1),
            "chunks_kb": round(chunks_kb, 1),
            "books": "clean" if clean else "broken",
        }
    )
    held = clean and stream_kb < STREAM_KB_MOST and chunks_kb < CHUNKS_KB_MOST
    return 0 if held and (costs.ratio >= RATIO_LEAST or not judges_timings(chosen)) else 1


def allow_descriptors() -> None:
    """For this process and all that it starts."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < DESCRIPTORS:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(DESCRIPTORS, hard), hard))


if __name__ == "__main__":
    sys.exit(main())
