"""Numbers in memory: what a call's end adds to, and nobody reads before a scrape.

A process has one event loop and one thread that counts, so plain integers need no lock.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from tollkeeper.metrics.table import Metric


class Distribution:
    """A histogram: how many values there were up to each bound, and their sum."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        # The last is for what is above every bound.
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def note(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


# One value of a metric: the metric, the values of its labels, and the number or the histogram.
Sample = tuple[Metric, tuple[str, ...], float | Distribution]


def distributions(metric: Metric, *values: str) -> dict[str, Distribution]:
    """One for each value of the metric's only label."""
    return {value: Distribution(metric.buckets) for value in values}


def each(metric: Metric, by_label: Iterable[tuple[str, float | Distribution]]) -> Iterable[Sample]:
    """Samples of a metric with one label."""
    return ((metric, (label,), value) for label, value in by_label)
