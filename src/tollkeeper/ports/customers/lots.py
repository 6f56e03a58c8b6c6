"""Lots over time: what there is of them, their extension, and what a month did to an account's quota."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Protocol

import msgspec

from tollkeeper.core.money.amounts import Quota


class LotPlace(msgspec.Struct, frozen=True, array_like=True):
    """Where a lot stands among its account's: in the order in which they are spent, closed ones last."""

    is_closed: bool
    expires_at: datetime
    id: int


class LotRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A lot as support sees it."""

    id: int
    account_id: int
    key_id: int | None
    source: str
    granted: Quota
    remaining: Quota
    created_at: datetime
    expires_at: datetime
    closed_at: datetime | None
    closed_as: str | None

    @property
    def place(self) -> LotPlace:
        return LotPlace(self.closed_at is not None, self.expires_at, self.id)


class TakenBack(msgspec.Struct, frozen=True, kw_only=True):
    """What was left of a lot and is gone, and what is owed since because it was spent."""

    revoked: Quota
    owed: Quota
    # Whether that was done before, and nothing now.
    was_before: bool = False


class Extended(StrEnum):
    EXTENDED = "extended"
    UNKNOWN = "unknown"
    CLOSED = "closed"
    NOT_LATER = "not_later"


class LotDesk(Protocol):
    async def of_account(
        self, account_id: int, *, after: LotPlace | None = None, limit: int | None = None
    ) -> Sequence[LotRecord]:
        """The one that is spent first stands first; closed ones last. Raise NotOnFile."""
        ...

    async def extend(self, lot_id: int, until: datetime, reason: str, *, actor: str) -> Extended: ...

    async def revoke(self, lot_id: int, reason: str, *, actor: str) -> TakenBack | None:
        """None: it expired and is closed, so there is nothing to take. Raise NotOnFile."""
        ...


class OpenLots(Protocol):
    async def of_key(self, key_id: int) -> Sequence[LotRecord]:
        """The first of the lots that a key draws from: those that are not empty and have not lapsed, in the order in
        which they are spent."""
        ...


class Item(StrEnum):
    """What a line of a statement is about."""

    TOP_UP = "top-up"
    GIFT = "gift"
    FAUCET = "faucet"
    CREDIT = "other credit"
    SPENT = "spent"
    EXPIRED = "expired"
    REVOKED = "revoked"


class StatementLine(msgspec.Struct, frozen=True):
    """What came in (more than nothing) or went out (less), in all, within the month."""

    item: Item
    # Of what was spent, the model.
    detail: str
    count: int
    amount: int


class MonthFigures(msgspec.Struct, frozen=True, kw_only=True):
    """All of one moment: opening + lines = closing."""

    opening: int
    lines: Sequence[StatementLine]
    closing: int


class Statements(Protocol):
    async def month(self, account_id: int, since: datetime, until: datetime) -> MonthFigures:
        """Raise NotOnFile."""
        ...
