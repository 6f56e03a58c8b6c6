"""What the log site has of the last cleanup: which days, how many calls of each, and in which files.

Rules of this file
1. A copy is whole when its manifest is there: the manifest is written last, and names everything else.
2. A copy has a name of its own, so that a new one never touches the files of the one before.
3. A copy is made of days in a row. Days that the log still has although a copy has them are left of a cleanup that
   was cut short: they are dropped before anything else is cleaned, for the next copy would not have their neighbours.
   Where a day was dropped already, what the log has of it came later; that goes with the next copy.
4. The next copy is prepared day by day, so that a cleanup has little to copy. It counts for nothing until its manifest
   is there.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime, timedelta

import msgspec


class CopiedDay(msgspec.Struct, frozen=True, kw_only=True):
    day: date
    rows: int
    file: str
    size_bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    copy: str
    made_at: datetime
    days: Sequence[CopiedDay]


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
