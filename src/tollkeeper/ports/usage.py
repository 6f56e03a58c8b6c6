"""The usage log: reading it, adding it up by day, and cleaning it."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import date, datetime
from pathlib import Path
from typing import Protocol
from uuid import UUID

import msgspec

from tollkeeper.core.errors import ForOperators
from tollkeeper.core.usage.log import Breakdown, UsageDay, UsageFilter, UsagePage, UsagePart, UsageSum
from tollkeeper.core.usage.log_copy import CopiedDay, CopiedPart, Manifest


class Consumed(msgspec.Struct, frozen=True):
    # The sum of the usage log that still exists, from this day on; what the console calls total consumed.
    in_log: UsageSum
    since: date | None
    # By the ledger, which is never cleaned.
    lifetime: int


class UsageLog(Protocol):
    async def page(self, wanted: UsageFilter, *, after: UUID | None, limit: int) -> UsagePage:
        """The calls older than `after`, newest first."""
        ...

    async def chart(self, wanted: UsageFilter, *, days: int) -> list[UsageDay]:
        """The last days up to today, oldest first. Account, key, model and ending of the filter count."""
        ...

    async def parts(
        self, account_id: int, wanted: UsageFilter, *, by: Breakdown, first: date, last: date
    ) -> list[UsagePart]:
        """An account's days taken apart, oldest first. Key, model and ending of the filter count."""
        ...

    async def consumed(self, account_id: int) -> Consumed: ...


class Rollups(Protocol):
    async def add_up(self) -> bool:
        """Add up some of the calls that are settled for good, each once. Whether there are more."""
        ...

    async def add_up_providers(self) -> bool:
        """The same, by provider account, model and hour, as far as `add_up` has come."""
        ...

    async def add_up_prices(self) -> bool:
        """The same, by price, account and day."""
        ...

    async def days_to_recount(self) -> Sequence[date]:
        """Days that are over and to be added up once more, oldest first."""
        ...

    async def recount(self, day: date) -> None:
        """Add the day up from nothing; as often as one likes."""
        ...


class DayChanged(ForOperators):
    """A day has other rows than were copied, so it was not dropped."""


class LogInUse(ForOperators):
    """A day could not be dropped now, because somebody reads the log for long. Try again later."""


class WrittenDay(msgspec.Struct, frozen=True):
    rows: int
    parts: Sequence[CopiedPart]


class LogCleaner(Protocol):
    """The log in the hands of one cleaner at a time."""

    async def days(self) -> Sequence[date]:
        """The days that are in the log and closed, oldest first."""
        ...

    async def dropped(self) -> Mapping[date, str]:
        """Every day that was ever dropped, and the name of the copy by which it was the last time."""
        ...

    async def write_day(self, day: date, file: Path) -> WrittenDay:
        """Write its rows as compressed CSV, by account and request id."""
        ...

    async def drop_day(self, day: date, *, rows: int, copy: str) -> None:
        """Drop it with what was added up of it, if it has exactly so many rows. DayChanged, LogInUse."""
        ...


class CleanUsage(Protocol):
    async def now(self) -> datetime:
        """By the database."""
        ...

    def alone(self) -> AbstractAsyncContextManager[LogCleaner | None]:
        """None where another cleaner is at work."""
        ...


class LogSiteFailed(ForOperators):
    """The log site did not do what was asked; the message says what and why."""


class LogSite(Protocol):
    """Where the copy of the last cleanup is kept: a folder, or a bucket. Everything may raise LogSiteFailed."""

    async def manifest(self) -> Manifest | None: ...

    async def prepared(self) -> Manifest | None:
        """The next copy, as far as it is made."""
        ...

    async def prepare(self, manifest: Manifest) -> None:
        """This is the next copy, as far as it is made. What is published is not any more."""
        ...

    async def put(self, copy: str, name: str, file: Path) -> None:
        """Durable and whole when this returns."""
        ...

    async def has(self, copy: str, name: str, size_bytes: int) -> bool:
        """Whether that file is there, in that size."""
        ...

    async def read(self, copy: str, name: str, *, offset_bytes: int, size_bytes: int) -> bytes:
        """A piece of that file."""
        ...

    async def publish(self, manifest: Manifest) -> None:
        """From now on this is the copy: at once and whole, or not at all."""
        ...

    async def forget_others(self) -> None:
        """Remove every copy but the one that the manifest names and the one that is prepared."""
        ...


class Cleaned(msgspec.Struct, frozen=True):
    """What a cleanup did."""

    days: Sequence[CopiedDay]
    # Days that are copied, and will be dropped by the next run.
    left: Sequence[date] = ()
