"""What this process admitted in the last 60 seconds: to begin from when Redis is away, and to tell Redis again."""

from collections import deque
from collections.abc import Iterator

import msgspec

from tollkeeper.core.limits import SPAN_US, Windows


class Admission(msgspec.Struct, frozen=True, gc=False):
    """When a call was admitted by the clock of the windows, in which, and whether by this process alone."""

    at_us: int
    windows: Windows
    alone: bool
    # By this process's own clock, which never goes back.
    noted_us: int
    # How many were noted before it.
    number: int


class OwnAdmissions:
    def __init__(self) -> None:
        self._kept: deque[Admission] = deque()
        self.count = 0

    def note(self, at_us: int, windows: Windows, monotonic_us: int, *, alone: bool) -> None:
        kept = self._kept
        kept.append(Admission(at_us, windows, alone, monotonic_us, self.count))
        self.count += 1
        while kept[0].noted_us + SPAN_US < monotonic_us:
            kept.popleft()

    def since(self, number: int) -> Iterator[Admission]:
        """Those of the last 60 seconds that were noted after so many others, in order."""
        return (admission for admission in list(self._kept) if admission.number >= number)
