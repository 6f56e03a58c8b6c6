"""How a key stands: one word for it, and how much of each of its limits is used."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from tollkeeper.console.usage.asked import DAYS_MOST, Asked
from tollkeeper.core.money.amounts import Quota
from tollkeeper.ports import KeyOnFile

SOON = timedelta(days=7)
# From this share of a limit on, in hundredths, its bar warns.
WARN_HUNDREDTHS = 80


class KeyState(StrEnum):
    LIVE = "live"
    ENDS_SOON = "ends soon"
    BUDGET_USED_UP = "budget used up"
    USED_UP = "used up"
    PAUSED = "paused"
    EXPIRED = "expired"
    REVOKED = "revoked"


class Span(StrEnum):
    ALL = "in all"
    DAY = "today"
    MONTH = "this month"


class KeyMeter(msgspec.Struct, frozen=True, kw_only=True):
    """What was used of one limit."""

    span: Span
    used: Quota
    limit: Quota
    # The calls that it sums.
    href: str

    @property
    def is_full(self) -> bool:
        return self.used >= self.limit

    @property
    def warn(self) -> bool:
        return self.used * 100 >= self.limit * WARN_HUNDREDTHS


class KeyStanding(msgspec.Struct, frozen=True, kw_only=True):
    state: KeyState
    # Until when the text from before the last rotation works, too.
    former_until: datetime | None
    # One for each limit that it has.
    meters: Sequence[KeyMeter]
    # All that it ever called, as long as the log has it.
    href: str


def standing_of(key: KeyOnFile, now: datetime) -> KeyStanding:
    former = key.former_until if key.former_until is not None and key.former_until > now else None
    meters = list(_meters(key, now))
    return KeyStanding(state=_state(key, meters, now), former_until=former, meters=meters, href=all_calls(key, now))


def all_calls(key: KeyOnFile, now: datetime) -> str:
    """From its first day on, or of the longest time that can be asked for at once."""
    today = now.date()
    first = max(key.created_at.date(), today - timedelta(days=DAYS_MOST - 1))
    return Asked(first=min(first, today), last=today, key_id=key.key_id).link()


def _meters(key: KeyOnFile, now: datetime) -> Iterator[KeyMeter]:
    today = Asked(first=now.date(), last=now.date(), key_id=key.key_id)
    if key.quota is not None:
        yield KeyMeter(span=Span.ALL, used=key.used, limit=key.quota, href=all_calls(key, now))
    if key.daily_budget is not None:
        yield KeyMeter(span=Span.DAY, used=key.counted_today, limit=key.daily_budget, href=today.link())
    if key.monthly_budget is not None:
        month = today.link(first=now.date().replace(day=1))
        yield KeyMeter(span=Span.MONTH, used=key.counted_this_month, limit=key.monthly_budget, href=month)


def _state(key: KeyOnFile, meters: Sequence[KeyMeter], now: datetime) -> KeyState:
    full = {meter.span for meter in meters if meter.is_full}
    left = None if key.expires_at is None else key.expires_at - now
    # The first that fits counts.
    states = (
        (key.revoked_at is not None, KeyState.REVOKED),
        (left is not None and left <= timedelta(0), KeyState.EXPIRED),
        (key.paused_at is not None, KeyState.PAUSED),
        (Span.ALL in full, KeyState.USED_UP),
        (bool(full), KeyState.BUDGET_USED_UP),
        (left is not None and left <= SOON, KeyState.ENDS_SOON),
    )
    return next((state for fits, state in states if fits), KeyState.LIVE)
