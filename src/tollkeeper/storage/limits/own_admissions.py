"""Own admissions: the calls that this process let pass in the last 60 s, for judging alone and for replay to Redis."""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tollkeeper.core.limits.windows import SPAN_US, Windows

# When a call was admitted, by the clock of the windows, and in which.
Admitted = tuple[int, Windows]


class Noted(NamedTuple):
    """Calls that were admitted together."""

    admitted: Sequence[Admitted]
    # By this process alone.
    alone: bool
    # By this process's own clock, which never goes back.
    noted_us: int
    # How many were noted before them.
    number: int


class OwnAdmissions:
    def __init__(self) -> None:
        self._kept: deque[Noted] = deque()
        self.count = 0

    def note(self, admitted: Sequence[Admitted], monotonic_us: int, *, alone: bool) -> None:
        kept = self._kept
        kept.append(Noted(admitted, alone, monotonic_us, self.count))
        self.count += len(admitted)
        while kept[0].noted_us + SPAN_US < monotonic_us:
            kept.popleft()

    def since(self, number: int) -> Iterator[tuple[Admitted, bool]]:
        """Admissions of the last 60 seconds that were noted after so many others, in order; and whether each was
        admitted by this process alone."""
        for noted in list(self._kept):
            for admitted in noted.admitted[max(0, number - noted.number) :]:
                yield admitted, noted.alone
