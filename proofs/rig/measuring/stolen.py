"""What other guests of a shared machine take: time in which somebody here was ready to run, and no core was ours."""

import bisect
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self, TypeVar

from proofs.rig.measuring.processes import TICKS_PER_SECOND

# Of all cores together. On a machine of its own it is 0; beside quiet guests 0.01 to 0.02.
CALM_SHARE_MOST = 0.04
# In a line of /proc/stat.
STEAL = 8
LOOK_SECONDS = 0.02

T = TypeVar("T")


def stolen_seconds() -> float:
    """Of all cores together, since the machine began; 0 where the kernel does not tell."""
    fields = Path("/proc/stat").read_text().partition("\n")[0].split()
    return int(fields[STEAL]) / TICKS_PER_SECOND if len(fields) > STEAL else 0.0


def share(stolen: float, seconds: float) -> float:
    """Of the time of all cores."""
    return stolen / (seconds * (os.cpu_count() or 1))


def calmest(found: Sequence[T], count: int, stolen_share: Callable[[T], float]) -> list[T]:
    """So many of what was measured, in its order: those in which least was stolen."""
    chosen = sorted(range(len(found)), key=lambda number: stolen_share(found[number]))[:count]
    return [found[number] for number in sorted(chosen)]


class Watch:
    """While it is open, it looks again and again how much was stolen so far."""

    def __init__(self) -> None:
        self._looked_at: list[float] = []
        self._stolen: list[float] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look_on, daemon=True)

    def __enter__(self) -> Self:
        self.look()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self.look()

    def stolen_between(self, begin: float, end: float) -> float:
        """Of all cores together, between two moments in Unix seconds, and what was counted while it looked."""
        first = max(0, bisect.bisect_right(self._looked_at, begin) - 1)
        last = min(len(self._stolen) - 1, bisect.bisect_left(self._looked_at, end))
        return self._stolen[last] - self._stolen[first]

    def look(self) -> None:
        self._stolen.append(stolen_seconds())
        self._looked_at.append(time.time())

    def _look_on(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            self.look()
