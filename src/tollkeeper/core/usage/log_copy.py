"""What the log site has of the last cleanup: which days, how many calls of each, and in which files.

Rules of this file
1. A copy is whole when its manifest is there: the manifest is written last, and names everything else.
2. A copy has a name of its own, so that a new one never touches the files of the one before.
3. A copy is made of days in a row. Days that the log still has although a copy has them are left of a cleanup that
   was cut short: they are dropped before anything else is cleaned, for the next copy would not have their neighbours.
   Where a day was dropped already, what the log has of it came later; that goes with the next copy.
4. The next copy is prepared day by day, so that a cleanup has little to copy. It counts for nothing until its manifest
   is there.
5. A day's file has its calls in the order of accounts and request ids, in parts that can each be unpacked alone. The
   manifest says where each part begins, so that one customer's calls are found without reading the others'.
"""

import csv
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

import msgspec

from tollkeeper.core.catalog.models import Unit
from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.charge import Ending, UsageSource
from tollkeeper.core.usage.log import UsageLine

# Of a day's file. Nothing in it is a customer's own text.
COLUMNS = (
    "request_id",
    "account_id",
    "key_id",
    "model_id",
    "price_id",
    "group_millionths",
    "input_units",
    "cached_units",
    "output_units",
    "held",
    "charged",
    "usage_source",
    "ending",
    "attempts",
    "started_at",
    "settled_at",
    # Not in copies of earlier versions: parts came first, then the unit. Those versions named the counts `…_tokens`; a
    # cell is known by its place.
    "parts",
    "unit",
)


class CopiedPart(msgspec.Struct, frozen=True, array_like=True):
    """A piece of a day's file."""

    # Of its first call.
    account_id: int
    request_id: UUID
    offset_bytes: int
    size_bytes: int

    @property
    def first(self) -> tuple[int, UUID]:
        return self.account_id, self.request_id


class CopiedDay(msgspec.Struct, frozen=True, kw_only=True):
    day: date
    rows: int
    file: str
    size_bytes: int
    sha256: str
    # None in copies of earlier versions, which are not in order.
    parts: Sequence[CopiedPart] | None = None


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    copy: str
    made_at: datetime
    days: Sequence[CopiedDay]


def parts_back_from(day: CopiedDay, account_id: int, before: UUID) -> Iterator[CopiedPart]:
    """Parts that can have calls of the account with smaller request ids, the latest first."""
    parts = day.parts or ()
    end = bisect_left(parts, (account_id, before), key=lambda part: part.first)
    for part in reversed(parts[:end]):
        yield part
        if part.account_id < account_id:
            return


def lines_of(rows: Iterable[str], key_names: Mapping[int, str]) -> Iterator[UsageLine]:
    """The calls of a part."""
    for row in csv.reader(rows):
        # A row of another version has fewer columns, or more: new ones come last.
        cells = dict(zip(COLUMNS, row, strict=False))
        started_at, settled_at = (datetime.fromisoformat(cells[name]) for name in ("started_at", "settled_at"))
        yield UsageLine(
            request_id=UUID(cells["request_id"]),
            started_at=started_at.astimezone(UTC),
            account_id=int(cells["account_id"]),
            key_id=int(cells["key_id"]),
            key_name=key_names.get(int(cells["key_id"]), ""),
            model_id=cells["model_id"],
            unit=Unit(cells["unit"]) if cells.get("unit") else None,
            input_units=int(cells["input_units"]),
            cached_units=int(cells["cached_units"]),
            output_units=int(cells["output_units"]),
            charged=Quota(int(cells["charged"])),
            usage_source=UsageSource(cells["usage_source"]),
            ending=Ending(cells["ending"]),
            seconds=(settled_at - started_at).total_seconds(),
        )


def copy_name(made_at: datetime) -> str:
    return f"{made_at:%Y%m%dT%H%M%S%fZ}"


def file_name(day: date) -> str:
    return f"usage-{day.isoformat()}.csv.gz"


def left_over(last: Manifest, still_there: Collection[date], dropped: Mapping[date, str]) -> list[date]:
    """Days of the last copy that were not dropped yet, oldest first. `dropped` names the copy of each that ever was."""
    days = (copied.day for copied in last.days)
    return sorted(day for day in days if day in still_there and dropped.get(day) != last.copy)


def clean_before(days: Sequence[date], today: date, *, keep_days: int, every_days: int) -> date | None:
    """Days before this one are to be cleaned now. None: the oldest has not waited long enough for its turn."""
    kept_from = today - timedelta(days=keep_days)
    due = bool(days) and min(days) < kept_from - timedelta(days=every_days - 1)
    return kept_from if due else None


def still_prepared(prepared: Manifest | None, published: Manifest | None) -> Manifest | None:
    """What was prepared and published is not prepared any more."""
    is_out = prepared is not None and published is not None and prepared.copy == published.copy
    return None if is_out else prepared


def to_prepare(days: Sequence[date], last: Manifest | None, *, every_days: int) -> list[date]:
    """Days that the next cleanup will take, and that are not prepared yet."""
    ready = {each.day for each in last.days} if last is not None else set()
    return [day for day in days if day < min(days) + timedelta(days=every_days) and day not in ready]


def written(manifest: Manifest) -> bytes:
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2)


def read(text: bytes) -> Manifest:
    return msgspec.json.decode(text, type=Manifest)
