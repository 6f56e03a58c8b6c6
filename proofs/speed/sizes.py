"""The sizes of prove-speed: how long each trial lasts, and on how much."""

import msgspec

from proofs.speed.grown_books import Books
from proofs.speed.rounds import Length
from proofs.speed.streams import Crowd


class Size(msgspec.Struct, frozen=True, kw_only=True):
    warm: Length
    calls: Length
    latency: Length
    # For each number of callers.
    apart: Length
    chunks: Length
    fast_chunks: Length
    big: Length
    workers: Length
    peer: Length
    # How long stacks are sampled; 0: not at all.
    profile_seconds: float
    long_streams: int
    crowd: Crowd
    grown: Books


SIZES = {
    "small": Size(
        warm=Length(1, 1),
        calls=Length(3, 3),
        latency=Length(2, 2),
        apart=Length(1, 1),
        chunks=Length(2, 2),
        fast_chunks=Length(1, 1),
        big=Length(2, 1.5),
        workers=Length(3, 1),
        peer=Length(1, 5),
        profile_seconds=0,
        long_streams=2,
        crowd=Crowd(streams=1_000, chunks=20, chunk_ms=1_000, watched_seconds=3),
        grown=Books(accounts=100_000, rows=1_000_000, turns=Length(20, 0.5)),
    ),
    "full": Size(
        warm=Length(1, 5),
        calls=Length(3, 15),
        latency=Length(3, 12),
        apart=Length(1, 10),
        chunks=Length(3, 10),
        fast_chunks=Length(3, 5),
        big=Length(3, 8),
        workers=Length(3, 8),
        peer=Length(3, 10),
        profile_seconds=15,
        long_streams=4,
        crowd=Crowd(streams=5_000, chunks=30, chunk_ms=2_000, watched_seconds=15),
        grown=Books(accounts=1_000_000, rows=10_000_000, turns=Length(100, 1)),
    ),
}
# Where nobody judges timings, each trial shows that it can be made, and books need not grow large.
IN_CI = msgspec.structs.replace(
    SIZES["small"],
    calls=Length(1, 2),
    latency=Length(1, 1),
    chunks=Length(1, 1),
    big=Length(1, 1),
    workers=Length(1, 1),
    crowd=Crowd(streams=300, chunks=10, chunk_ms=500, watched_seconds=2),
    grown=Books(accounts=10_000, rows=50_000, turns=Length(2, 0.5)),
)
