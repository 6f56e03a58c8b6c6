"""Times to the first byte, counted in fixed buckets: counts of many hours and accounts can be added up, and tell a
percentile to within a fifth. (A mean hides the slow ones, and percentiles cannot be added.)"""

from collections.abc import Sequence
from math import ceil

# Where each bucket but the first begins, in ms: by factors of the square root of two. The database has the same list.
BOUNDS_MS = (
    *(25, 35, 50, 71, 100, 141, 200, 283, 400, 566, 800, 1131, 1600, 2263, 3200),
    *(4525, 6400, 9051, 12800, 18102, 25600, 36204, 51200),
)
BUCKETS = len(BOUNDS_MS) + 1


def percentile_ms(counts: Sequence[int], percent: float) -> int | None:
    """The time within which that part of all came; None where there were none."""
    found = percentile_of(counts, BOUNDS_MS, percent)
    return None if found is None else round(found)


def percentile_of(counts: Sequence[int], bounds: Sequence[float], percent: float) -> float | None:
    """The same of any buckets: between the bounds of a bucket by the place in it. Beyond the last bound, that bound."""
    total = sum(counts)
    if not total:
        return None
    rank, before = max(1, ceil(total * percent / 100)), 0
    for bucket, count in enumerate(counts):
        if before + count >= rank:
            low = bounds[bucket - 1] if bucket else 0
            high = bounds[min(bucket, len(bounds) - 1)]
            return low + (high - low) * (rank - before) / count
        before += count
    return bounds[-1]
