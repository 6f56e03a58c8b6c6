"""What the address asks for: which calls, and how they are taken apart.

Rules of this file
1. Filters live in the address, in one spelling: `/usage?from=2026-11-01&to=2026-11-07&model=…&key=…&ending=…&by=key`.
2. A day is a day of UTC. Without days in the address, it is the last thirty.
3. What cannot be read is said beside its field, and counts as not asked for.
"""

from collections.abc import Mapping
from datetime import date, timedelta
from urllib.parse import quote_plus
from uuid import UUID

import msgspec

from tollkeeper.console.visit import Visit
from tollkeeper.core.money.charge import Ending
from tollkeeper.core.one_line import shown
from tollkeeper.core.usage.log import CHART_DAYS, Breakdown, UsageFilter, day_start

PATH = "/usage"
NOT_COMPLETED = "not_completed"
DAYS_MOST = 366
# Of a number of the database. Beyond it no key has one.
DIGITS_MOST = 18
MODEL_CHARACTERS_MOST = 200


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    first: date
    last: date
    model: str = ""
    key_id: int | None = None
    ending: Ending | None = None
    # Every ending but completed.
    not_completed: bool = False
    request_id: UUID | None = None
    by: Breakdown = Breakdown.MODEL

    @property
    def days(self) -> list[date]:
        return [self.first + timedelta(days=back) for back in range((self.last - self.first).days + 1)]

    def wanted(self, account_id: int) -> UsageFilter:
        """Who asks for one call by its id need not know its day."""
        by_day = self.request_id is None
        return UsageFilter(
            account_id=account_id,
            key_id=self.key_id,
            model_id=self.model or None,
            ending=self.ending,
            not_completed=self.not_completed,
            request_id=self.request_id,
            since=day_start(self.first) if by_day else None,
            until=day_start(self.last + timedelta(days=1)) if by_day else None,
        )

    def link(self, path: str = PATH, **changes: object) -> str:
        """The address of the same calls, but for what is changed; `after` is where an older page begins. A chart has
        hundreds of them: only the model's name and the key may need quoting."""
        after = changes.pop("after", None)
        other = msgspec.structs.replace(self, **changes)
        ending = NOT_COMPLETED if other.not_completed else other.ending
        by = other.by if other.by is not Breakdown.MODEL else None
        told = (("model", other.model), ("key", other.key_id), ("ending", ending), ("id", other.request_id), ("by", by))
        more = "".join(f"&{name}={quote_plus(str(value))}" for name, value in (*told, ("after", after)) if value)
        return f"{path}?from={other.first.isoformat()}&to={other.last.isoformat()}{more}"


def read(visit: Visit) -> Asked:
    """Say on the form what of the address cannot be read."""
    query, today = visit.query, visit.desks.now().date()
    first, last = _days(visit, today)
    return Asked(
        first=first,
        last=last,
        # The database takes no NUL, and no model has one.
        model=shown(query.get("model", "").strip())[:MODEL_CHARACTERS_MOST],
        key_id=_number(query, "key"),
        ending=next((ending for ending in Ending if ending == query.get("ending")), None),
        not_completed=query.get("ending") == NOT_COMPLETED,
        request_id=_request_id(visit),
        by=Breakdown.KEY if query.get("by") == Breakdown.KEY else Breakdown.MODEL,
    )


def after(visit: Visit) -> UUID | None:
    """Where an older page begins."""
    try:
        return UUID(visit.query.get("after", ""))
    except ValueError:
        return None


def _days(visit: Visit, today: date) -> tuple[date, date]:
    last = _day(visit, "to") or today
    first = _day(visit, "from") or last - timedelta(days=CHART_DAYS - 1)
    if first > last:
        visit.form.refuse("from", visit.gettext("The first day comes after the last one."))
        return last, last
    if (last - first).days >= DAYS_MOST:
        visit.form.refuse("from", visit.gettext("Choose a year at most. Here are the last days of what you chose."))
        return last - timedelta(days=DAYS_MOST - 1), last
    return first, last


def _day(visit: Visit, name: str) -> date | None:
    text = visit.query.get(name, "")
    if not text:
        return None
    try:
        found = date.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or not 2000 <= found.year < 9999:
        visit.form.refuse(name, visit.gettext("Write a day like 2026-11-16."))
        return None
    return found


def _number(query: Mapping[str, str], name: str) -> int | None:
    text = query.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= DIGITS_MOST else None


def _request_id(visit: Visit) -> UUID | None:
    text = visit.query.get("id", "").strip()
    if not text:
        return None
    try:
        return UUID(text)
    except ValueError:
        visit.form.refuse("id", visit.gettext("This is no request id. It stands in the answer's x-request-id header."))
        return None
