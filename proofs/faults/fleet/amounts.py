"""How much of everything, by the size that is asked for."""

import msgspec

from proofs.faults.fleet.callers import LONG_STREAM, MIXED, Kind, Load

# Streams of half a minute, which a restart has to wait for.
LONGEST_STREAM = Kind("tokens=600 chunk_ms=50", 600, True)


class Amounts(msgspec.Struct, frozen=True, kw_only=True):
    load: Load
    # Between two faults.
    calls: int
    kills: int
    # Of both nodes.
    turns: int
    crashes: int
    silent_seconds: float
    soak_seconds: float
    # In all rows together; each call has one of its own.
    keys: int


AMOUNTS = {
    # Half of what two cores can do beside the callers, which others may want as well.
    "small": Amounts(
        load=Load(per_second=25),
        calls=75,
        kills=5,
        turns=1,
        crashes=1,
        silent_seconds=7,
        soak_seconds=30,
        keys=40_000,
    ),
    "full": Amounts(
        load=Load(per_second=100, kinds=(*MIXED, LONG_STREAM, LONGEST_STREAM)),
        calls=1_000,
        kills=20,
        turns=50,
        crashes=10,
        silent_seconds=60,
        soak_seconds=3_600,
        keys=1_500_000,
    ),
}
