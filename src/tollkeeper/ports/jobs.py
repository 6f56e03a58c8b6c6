"""What running jobs takes: a book that says whose each is, and keeps what came of it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

import msgspec


class JobRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A job as operators see it."""

    name: str
    every_seconds: float
    # Who does it, as long as they are heard of.
    holder: str | None
    due_at: datetime
    began_at: datetime | None
    # None while it is being done, or where whoever did it died.
    ended_at: datetime | None
    seconds: float | None
    went_well: bool | None
    outcome: str | None
    runs: int
    failures: int
    # Of the last run that came to a verdict: later ones that could not be made leave it as it is.
    judged_at: datetime | None = None
    judged_well: bool | None = None


class JobBook(Protocol):
    async def hold(self, every_seconds: Mapping[str, float]) -> Sequence[str]:
        """Take what is free of these jobs, and keep one's own for a while longer; of those, the ones that are due."""
        ...

    async def begin(self, name: str) -> None: ...

    async def end(self, name: str, *, seconds: float, went_well: bool, outcome: str, judged: bool) -> None:
        """`judged`: the run came to a verdict, which stays on record until the next one."""
        ...

    async def release(self) -> None:
        """Let others have them at once."""
        ...
