"""How much of everything, by the size that is asked for."""

import msgspec

from proofs.faults.fleet.callers import LATE_WHOLE, LONG_STREAM, LONGEST_STREAM, MIXED, STREAM, TEN_MINUTES, WHOLE, Load


class Amounts(msgspec.Struct, frozen=True, kw_only=True):
    load: Load
    # Between two faults.
    calls: int
    kill_load: Load
    kill_calls: int
    kills: int
    restart_load: Load
    restart_calls: int
    # Of both nodes, as far as they fit into the time.
    turns: int
    restart_seconds_most: float
    crashes: int
    silent_seconds: float
    # Upstream tries of a call, on average: where calls are few, those that find an account out weigh more.
    tries_most: float
    dry_calls: int
    dry_per_second: float
    # Of each of four races.
    race_rounds: int
    # For each number of callers.
    overload_seconds: float
    slow_readers: int
    slow_seconds: float
    soak_load: Load
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
        kill_load=Load(per_second=25),
        kill_calls=75,
        kills=5,
        restart_load=Load(per_second=25),
        restart_calls=75,
        turns=1,
        restart_seconds_most=600,
        crashes=1,
        silent_seconds=7,
        tries_most=1.2,
        dry_calls=600,
        dry_per_second=60,
        race_rounds=1,
        overload_seconds=6,
        slow_readers=60,
        slow_seconds=10,
        soak_load=Load(per_second=25),
        soak_seconds=15,
        judges_slope=False,
        keys=40_000,
    ),
    # What two cores carry together with callers and providers, in less than two hours. Where that is less than the
    # fault table asks for, the guide says by how much.
    "full": Amounts(
        load=Load(per_second=40, kinds=(*MIXED, LONG_STREAM, LONGEST_STREAM)),
        calls=200,
        # A million calls would take seven hours.
        kill_load=Load(per_second=40),
        kill_calls=1_400,
        kills=20,
        # Each restart costs seconds of CPU beside them: half of the calls are streams, of up to half a minute.
        restart_load=Load(
            per_second=40,
            kinds=(WHOLE, LATE_WHOLE, WHOLE, STREAM, LONG_STREAM, LONGEST_STREAM),
            first=(TEN_MINUTES,) * 3,
        ),
        restart_calls=20,
        turns=50,
        restart_seconds_most=1_800,
        crashes=10,
        silent_seconds=60,
        tries_most=1.1,
        dry_calls=20_000,
        dry_per_second=120,
        race_rounds=250,
        overload_seconds=45,
        slow_readers=1_000,
        slow_seconds=600,
        # What takes about 40 % of a core beside others, callers and providers counted.
        soak_load=Load(per_second=10, kinds=(*MIXED, *MIXED, LONGEST_STREAM)),
        soak_seconds=3_600,
        judges_slope=True,
        keys=300_000,
    ),
}
