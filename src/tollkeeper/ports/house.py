"""The house as operators see it: nodes and settings."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from tollkeeper.core.money.amounts import Quota


class NodeRecord(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    # None where only jobs are done there: those say no version.
    version: str | None
    started_at: datetime
    heartbeat_at: datetime
    is_alive: bool
    # Processes that serve calls, and that do jobs, and are heard of.
    serving: int
    working: int


class SettingRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A setting of one process. Of a secret, the value is dots."""

    variable: str
    value: str
    set_by: str
    what_for: str


class AnnouncedPrice(msgspec.Struct, frozen=True, kw_only=True):
    """A price that is in the book and not in force yet."""

    price_id: int
    model: str
    variant: str
    effective_from: datetime


class HouseFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What the stores say at this moment."""

    # Holds of calls under way: how many, how much, and how old the oldest is.
    open_holds: int
    held: Quota
    oldest_hold_seconds: float
    # A minute past their deadline.
    overdue_holds: int
    # Lots that lapse within seven days with something left in them.
    lapsing_lots: int
    lapsing_accounts: int
    lapsing: Quota
    # What waits for staff: disputed charges, resets for a second person, withdrawals to be decided or paid.
    open_disputes: int
    waiting_resets: int
    open_withdrawals: int
    # The soonest first.
    announced_prices: Sequence[AnnouncedPrice]
    # How long the stores took to answer; None: Redis did not.
    database_ms: float
    redis_ms: float | None
