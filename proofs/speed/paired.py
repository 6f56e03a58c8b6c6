"""Pairs: what two states cost in turns that lie close together, and how far apart they are for certain."""

import itertools
import math
import statistics
from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec

# How often an interval may miss the true median.
MISSES = 0.05

T = TypeVar("T")


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of both states. The interval has the true ratio 19 times of 20."""

    name: str
    before: float
    now: float
    now_to_before: float
    low: float
    high: float


def compared(name: str, pairs: Iterable[tuple[float, float]]) -> Compared:
    """From pairs of before and now. Differences within a pair are what counts: the machine's mood, which moves both,
    is not in them. The unit is the median of before."""
    pairs = list(pairs)
    before = statistics.median(then for then, _ in pairs)
    differences = [now - then for then, now in pairs]
    low, high = interval(differences)
    return Compared(
        name=name,
        before=before,
        now=statistics.median(now for _, now in pairs),
        now_to_before=1 + statistics.median(differences) / before,
        low=1 + low / before,
        high=1 + high / before,
    )


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Between which values the true median lies, by the sign test: each value is above it or below it as a coin falls.
    Of fewer than six values even the outermost promise less than 19 times of 20."""
    ordered, count = sorted(values), len(values)
    # How likely it is that so few fall on one side, or fewer.
    chances = itertools.accumulate(math.comb(count, few) / 2**count for few in range(count))
    left_out = max(0, sum(2 * chance <= MISSES for chance in chances) - 1)
    return ordered[left_out], ordered[-1 - left_out]


def in_order(round_number: int, parties: Sequence[T]) -> list[T]:
    """Whoever is first in one round is last in the next: what only time changes falls on all alike."""
    return list(parties if round_number % 2 == 0 else reversed(parties))


def table(figures: Iterable[Compared]) -> list[str]:
    """For people: a line for each figure."""
    head = f"{'figure':<14}{'before':>9}{'now':>9}{'now/before':>12}   between"
    return [head, *map(_line, figures)]


def _line(row: Compared) -> str:
    found = f"{row.name:<14}{row.before:>9.4g}{row.now:>9.4g}{row.now_to_before:>12.3f}"
    return f"{found}   {row.low:.3f} and {row.high:.3f}"
