"""The usage log as it is read: what is asked for, what a page is, and how its rows are written for spreadsheets.

Rules of this file
1. The newest call comes first. A request id begins with its time, so it is the order and the cursor in one.
2. A page looks at a bounded number of rows. It may come back short, and then says from where to go on.
3. A day is a day of UTC; a call belongs to the day on which it began, whenever it was settled.
4. Counts are of one unit. Tokens, images, characters and seconds are never added up to one number.
5. A cell that a spreadsheet could take for a formula begins with an apostrophe.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import Self
from uuid import UUID

import msgspec

from tollkeeper.core.catalog.models import Unit
from tollkeeper.core.money.amounts import Quota, usd_exact
from tollkeeper.core.money.charge import Ending, UsageSource
from tollkeeper.core.request_id import uuid7

FIRST_ID = UUID(int=0)
BEHIND_ALL_IDS = UUID(int=(1 << 128) - 1)
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")
CHART_DAYS = 30


class UsageFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which calls are asked for; what is None does not matter."""

    account_id: int | None = None
    key_id: int | None = None
    model_id: str | None = None
    ending: Ending | None = None
    # Every ending but that one.
    not_completed: bool = False
    request_id: UUID | None = None
    # Calls that began at `since` or later, and before `until`.
    since: datetime | None = None
    until: datetime | None = None

    @property
    def endings(self) -> list[Ending] | None:
        """The endings that are asked for; None: any."""
        if self.ending is None and not self.not_completed:
            return None
        asked = Ending if self.ending is None else [self.ending]
        return [ending for ending in asked if not (self.not_completed and ending is Ending.COMPLETED)]

    @property
    def first_id(self) -> UUID:
        """No call that is asked for has a smaller request id."""
        return FIRST_ID if self.since is None else id_floor(self.since)

    @property
    def end_id(self) -> UUID:
        """Every call that is asked for has a smaller request id."""
        return BEHIND_ALL_IDS if self.until is None else id_floor(self.until)


class UsageLine(msgspec.Struct, frozen=True, kw_only=True):
    """One call of the log."""

    request_id: UUID
    started_at: datetime
    account_id: int
    key_id: int
    key_name: str
    model_id: str
    # None: in a copy of the log by a version that did not say.
    unit: Unit | None
    input_units: int
    cached_units: int
    output_units: int
    charged: Quota
    usage_source: UsageSource
    ending: Ending
    # From its beginning until it was settled.
    seconds: float


class UsagePage(msgspec.Struct, frozen=True):
    lines: Sequence[UsageLine]
    # What to give as `after` for what follows; None: nothing does.
    next: UUID | None


class UnitSum(msgspec.Struct, frozen=True, kw_only=True):
    """What was counted in one unit."""

    input_units: int = 0
    cached_units: int = 0
    output_units: int = 0

    def __add__(self, other: Self) -> "UnitSum":
        return UnitSum(
            input_units=self.input_units + other.input_units,
            cached_units=self.cached_units + other.cached_units,
            output_units=self.output_units + other.output_units,
        )


class UsageSum(msgspec.Struct, frozen=True, kw_only=True):
    calls: int = 0
    by_unit: Mapping[Unit, UnitSum] = {}
    charged: Quota = Quota(0)

    def __add__(self, other: Self) -> "UsageSum":
        """Pages add thousands: what is the same is not made again."""
        if not self.calls and not self.by_unit and not self.charged:
            return other
        by_unit = dict(self.by_unit)
        for unit, added in other.by_unit.items():
            before = by_unit.get(unit)
            by_unit[unit] = added if before is None else before + added
        if len(by_unit) > 1:
            by_unit = {unit: by_unit[unit] for unit in Unit if unit in by_unit}
        return UsageSum(calls=self.calls + other.calls, by_unit=by_unit, charged=Quota(self.charged + other.charged))


class UsageDay(msgspec.Struct, frozen=True):
    day: date
    sum: UsageSum


class Breakdown(StrEnum):
    """What the figures of a day are broken down by."""

    MODEL = "model"
    KEY = "key"


class UsagePart(msgspec.Struct, frozen=True):
    """What one model or one key had of one day."""

    day: date
    # The model's id, or the key's number.
    name: str
    sum: UsageSum


def id_floor(at: datetime) -> UUID:
    """No request id made at that time or later is smaller."""
    return uuid7(max(0, int(at.timestamp() * 1_000)), bytes(10))


def day_start(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def day_of(request_id: UUID) -> date:
    return datetime.fromtimestamp((request_id.int >> 80) / 1_000, UTC).date()


def day_ids(day: date) -> tuple[UUID, UUID]:
    """The bounds of that day's request ids; the second is the next day's."""
    return id_floor(day_start(day)), id_floor(day_start(day + timedelta(days=1)))


def every_day(found: Sequence[UsageDay], until: date, days: int) -> list[UsageDay]:
    """The days up to `until`, oldest first; those without calls as well."""
    sums = {each.day: each.sum for each in found}
    asked = (until - timedelta(days=back) for back in reversed(range(days)))
    return [UsageDay(day, sums.get(day, UsageSum())) for day in asked]


CSV_HEAD = (
    "time",
    "request_id",
    "account",
    "key",
    "key_name",
    "model",
    "unit",
    "input_units",
    "cached_units",
    "output_units",
    "charged_usd",
    "usage_source",
    "ending",
    "seconds",
)


def csv_row(line: UsageLine) -> tuple[str, ...]:
    """The cells of one call, under `CSV_HEAD`."""
    cells = (
        line.started_at.isoformat(timespec="milliseconds"),
        str(line.request_id),
        str(line.account_id),
        str(line.key_id),
        line.key_name,
        line.model_id,
        line.unit or "",
        str(line.input_units),
        str(line.cached_units),
        str(line.output_units),
        usd_exact(line.charged),
        line.usage_source.value,
        line.ending.value,
        f"{line.seconds:.3f}",
    )
    return tuple(map(guarded, cells))


def guarded(cell: str) -> str:
    return f"'{cell}" if cell.startswith(FORMULA_STARTS) else cell
