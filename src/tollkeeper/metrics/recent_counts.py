"""Counts of the last minutes, from counts that only grow."""

from collections import deque
from collections.abc import Callable, Sequence


class RecentCounts:
    """What was counted since one of the last looks. Whoever looks every few seconds has the last minutes."""

    def __init__(self, counts: Callable[[], Sequence[int]], *, looks: int) -> None:
        self._counts = counts
        self._seen: deque[Sequence[int]] = deque([list(counts())], maxlen=looks)

    def look(self) -> list[int]:
        now = list(self._counts())
        oldest = self._seen[0]
        self._seen.append(now)
        return [count - before for count, before in zip(now, oldest, strict=True)]
