"""F15: an hour of mixed calls. What the nodes occupy and hold open is as much at its end as after its warm-up."""

import time
from collections.abc import Sequence

import msgspec

from proofs.faults.descriptors import descriptors
from proofs.faults.fleet.amounts import Amounts
from proofs.faults.fleet.callers import Callers, calling
from proofs.faults.fleet.join import join
from proofs.faults.fleet.pressure import slope_per_hour
from proofs.faults.fleet.site import Fleet
from proofs.faults.rows import BOOKS, Row
from proofs.rig.checks import Check
from proofs.rig.deployment import books_are_clean
from proofs.rig.patience import came_true
from proofs.rig.proof import say

SAMPLES = 240
# A third of the time: caches fill, pools grow to their size.
WARM_UP_SHARE = 1 / 3
# Over an hour. A leak of 100 bytes a call would be 36 MB at 100 calls a second.
MEMORY_MB_PER_HOUR_MOST = 20.0
DESCRIPTORS_MOST = 16
BACK_WITHIN_SECONDS = 30.0
BARS = "▁▂▃▄▅▆▇█"
COLUMNS = 60


class Sample(msgspec.Struct, frozen=True):
    at: float
    memory_mb: float
    # Of all workers, without those to providers, which are kept for a while.
    descriptors: int


def soaked(fleet: Fleet, amounts: Amounts) -> list[Row]:
    callers = Callers([fleet.balancer.port], fleet.customers, amounts.load, fleet.chance)
    samples, begun = list[Sample](), time.monotonic()
    with calling(callers):
        while (at := time.monotonic() - begun) < amounts.soak_seconds:
            samples.append(_sample(fleet, at))
            time.sleep(amounts.soak_seconds / SAMPLES)
    warm = [sample for sample in samples if sample.at >= WARM_UP_SHARE * amounts.soak_seconds]
    slope = slope_per_hour([(sample.at, sample.memory_mb) for sample in warm])
    tally, before = join(fleet, callers.placed), max(sample.descriptors for sample in samples[: SAMPLES // 3])
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
            load=f"{tally.calls:,} at {amounts.load}",
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


def _sample(fleet: Fleet, at: float) -> Sample:
    return Sample(at, fleet.memory_bytes() / 1e6, _open(fleet))


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
