"""F15: an hour of mixed calls. What the nodes occupy and hold open is as much at its end as after its warm-up."""

import itertools
import time
from collections.abc import Sequence

from proofs.faults.descriptors import descriptors
from proofs.faults.fleet.amounts import Amounts
from proofs.faults.fleet.callers import Callers, calling
from proofs.faults.fleet.join import join
from proofs.faults.fleet.pressure import slope_per_hour
from proofs.faults.fleet.site import Fleet
from proofs.faults.fleet.soak_plot import FIGURES, Sample, Soak, leave
from proofs.faults.rows import BOOKS, Row
from proofs.rig.checks import Check
from proofs.rig.deployment import books_are_clean
from proofs.rig.patience import came_true
from proofs.rig.proof import say

# Who call again and again: of each key that it knows, a worker keeps a snapshot, up to a bound.
CUSTOMERS = 1_000
SAMPLES = 240
# Of these.
TOLD_EACH = 4
# A third of the time: caches fill, pools grow to their size.
WARM_UP_SHARE = 1 / 3
# Over an hour. A leak of 100 bytes a call would be 36 MB at 100 calls a second.
MEMORY_MB_PER_HOUR_MOST = 20.0
DESCRIPTORS_MOST = 16
BACK_WITHIN_SECONDS = 30.0
BARS = "▁▂▃▄▅▆▇█"
COLUMNS = 60


def soaked(fleet: Fleet, amounts: Amounts) -> list[Row]:
    customers = itertools.cycle([next(fleet.customers) for _ in range(CUSTOMERS)])
    callers = Callers([fleet.balancer.port], customers, amounts.soak_load, fleet.chance)
    samples, begun = list[Sample](), time.monotonic()
    with calling(callers):
        while (at := time.monotonic() - begun) < amounts.soak_seconds:
            samples.append(_sample(fleet, at))
            _tell(samples, callers.begun, amounts)
            time.sleep(amounts.soak_seconds / SAMPLES)
    warm, slope = _warm(samples, amounts), _slope(samples, amounts)
    tally, before = (
        join(fleet, callers.placed, by_answer=True),
        max(sample.descriptors for sample in samples[: SAMPLES // 3]),
    )
    came_true(lambda: _open(fleet) <= before + DESCRIPTORS_MOST, within_seconds=BACK_WITHIN_SECONDS)
    left = _open(fleet) - before
    say(f"memory {warm[0].memory_mb:.0f} MB, then {warm[-1].memory_mb:.0f} MB: {slope:+.1f} MB an hour")
    say(f"descriptors: {before} at most at first, {before + left} in the end")
    say(f"memory over time: {drawn([sample.memory_mb for sample in samples])}")
    say(f"descriptors over time: {drawn([float(sample.descriptors) for sample in samples])}")
    unserved = [one for one in callers.placed if not one.is_served]
    return [
        Row(
            number=15,
            name=f"a soak of {amounts.soak_seconds:g} s",
            load=f"{tally.calls:,} at {amounts.soak_load}",
            tally=tally,
            checks=[
                Check(BOOKS, books_are_clean(fleet.books)),
                Check("ledger, truth and callers agree", tally.is_clean, str(tally)),
                Check("every call is served", not unserved, "; ".join(map(str, unserved[:3]))),
                Check("descriptors are flat", left <= DESCRIPTORS_MOST, f"{left} more"),
                Check("memory is flat", slope <= MEMORY_MB_PER_HOUR_MOST or not amounts.judges_slope, f"{slope:.1f}"),
            ],
        )
    ]


def _warm(samples: Sequence[Sample], amounts: Amounts) -> list[Sample]:
    return [sample for sample in samples if sample.at >= WARM_UP_SHARE * amounts.soak_seconds]


def _slope(samples: Sequence[Sample], amounts: Amounts) -> float:
    warm = _warm(samples, amounts)
    return slope_per_hour([(sample.at, sample.memory_mb) for sample in warm]) if warm else 0.0


def _tell(samples: Sequence[Sample], calls: int, amounts: Amounts) -> None:
    """How it stands, now and then; in full size the samples are kept as well, should it be ended early."""
    if not amounts.judges_slope or len(samples) % TOLD_EACH:
        return
    now, slope = samples[-1], _slope(samples, amounts)
    leave(
        Soak(
            command="make prove-faults ONLY=15 SIZE=full",
            load=f"{calls:,} calls at {amounts.soak_load}",
            warm_up_seconds=WARM_UP_SHARE * amounts.soak_seconds,
            memory_mb_per_hour=round(slope, 1),
            samples=samples,
        )
    )
    say(f"{now.at:.0f} s, {calls:,} calls begun, {now.memory_mb:.0f} MB, {now.descriptors} descriptors, {FIGURES.name}")


def _sample(fleet: Fleet, at: float) -> Sample:
    return Sample(round(at, 1), round(fleet.own_memory_bytes() / 1e6, 2), _open(fleet))


def _open(fleet: Fleet) -> int:
    ports = [simulator.port for simulator in fleet.simulators.values()]
    return sum(sum(descriptors(node, *ports).own.values()) for node in fleet.nodes)


def drawn(values: Sequence[float]) -> str:
    """A plot in one line, from the least to the most."""
    width = min(COLUMNS, len(values))
    parts = [values[place * len(values) // width : (place + 1) * len(values) // width] for place in range(width)]
    means = [sum(part) / len(part) for part in parts]
    least, most = min(means), max(means)
    steps = [int((mean - least) / (most - least or 1.0) * (len(BARS) - 1)) for mean in means]
    return f"{least:.0f} {''.join(BARS[step] for step in steps)} {most:.0f}"
