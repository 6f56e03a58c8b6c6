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
    # Upstream tries of a call, on average: where calls are few, those that find an account out weigh more.
    tries_most: float
    dry_calls: int
    dry_per_second: float
    # Of each of four races.
    race_rounds: int
    overload_seconds: float
    slow_readers: int
    slow_seconds: float
    soak_seconds: float
    # Whether the time is long enough to tell a slope from noise.
    judges_slope: bool
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
        tries_most=1.2,
        dry_calls=600,
        dry_per_second=60,
        race_rounds=1,
        overload_seconds=6,
        slow_readers=60,
        slow_seconds=10,
        soak_seconds=15,
        judges_slope=False,
        keys=40_000,
    ),
    "full": Amounts(
        load=Load(per_second=100, kinds=(*MIXED, LONG_STREAM, LONGEST_STREAM)),
        calls=1_000,
        kills=20,
        turns=50,
        crashes=10,
        silent_seconds=60,
        tries_most=1.1,
        dry_calls=600_000,
        dry_per_second=1_000,
        race_rounds=250,
        overload_seconds=60,
        slow_readers=1_000,
        slow_seconds=600,
        soak_seconds=3_600,
        judges_slope=True,
        keys=1_500_000,
    ),
}
