"""What calls need of the limits, and what support can do about restrictions and bans."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Protocol
from uuid import UUID

import msgspec

from tollkeeper.core.limits.windows import LimitOutcome, Rates, Windows

# Of bans and restrictions: how many are listed, and how long the reason may be that an operator gives.
LISTED_MOST = 1_000
REASON_CHARACTERS_MOST = 500


class Passage(msgspec.Struct, frozen=True, gc=False):
    """A call that wants to pass its windows."""

    windows: Windows
    request_id: UUID
    # The tokens it is known to use.
    tokens: int = 0
    # From where.
    ip: str = ""


class Limiter(Protocol):
    def known_full(self, windows: Windows) -> LimitOutcome | None:
        """The refusal by a window that is known to be full, without asking anybody."""
        ...

    async def admit(self, passage: Passage) -> LimitOutcome:
        """Take a place in every window, or in none. Never waits long, whatever the store does."""
        ...

    def ended(self, passage: Passage, more_tokens: int) -> None:
        """A call that passed is over; it used so many tokens more than was known. Returns at once."""
        ...


class Ban(msgspec.Struct, frozen=True, kw_only=True):
    ip: str
    until: datetime
    why: str


class Bans(Protocol):
    def find(self, ip: str) -> Ban | None:
        """The ban in force, from memory."""
        ...


class InvalidCalls(Protocol):
    def note(self, ip: str, code: str) -> None:
        """Count an invalid call, and ban its IP where it was one too many. Returns at once."""
        ...


class BanRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A ban as support sees it: past or in force."""

    id: int
    ip: str
    began_at: datetime
    until: datetime
    why: str
    counted: Mapping[str, object]
    account_id: int | None
    lifted_at: datetime | None
    lifted_by: str | None
    lift_reason: str | None


class RestrictionRecord(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    account_id: int
    began_at: datetime
    until: datetime
    peak_seconds: int
    within_seconds: int
    ip: str
    lifted_at: datetime | None
    lifted_by: str | None
    lift_reason: str | None
    # Who decided on it, and why; None: it followed from what was counted.
    began_by: str | None = None
    reason: str | None = None


class AbuseDesk(Protocol):
    """What support does about bans and restrictions; every act is on the record."""

    async def bans(
        self,
        *,
        ip: str | None = None,
        in_force_only: bool = True,
        before_id: int | None = None,
        limit: int = LISTED_MOST,
    ) -> Sequence[BanRecord]:
        """The newest first; with `ip`, those of that client alone."""
        ...

    async def ban_record(self, ban_id: int) -> BanRecord:
        """Raise NotOnFile."""
        ...

    async def ban(self, ip: str, seconds: int, reason: str, *, actor: str) -> datetime | None:
        """Until when; None where it is banned already."""
        ...

    async def lift_ban(self, ip: str, reason: str, *, actor: str) -> bool:
        """Whether one was in force."""
        ...

    async def restrictions(
        self,
        *,
        account_id: int | None = None,
        in_force_only: bool = True,
        before_id: int | None = None,
        limit: int = LISTED_MOST,
    ) -> Sequence[RestrictionRecord]:
        """The newest first. Raise NotOnFile."""
        ...

    async def restrict(self, account_id: int, seconds: int, reason: str, *, actor: str) -> datetime | None:
        """Until when; None where it is restricted already. Raise NotOnFile."""
        ...

    async def lift_restriction(self, account_id: int, reason: str, *, actor: str) -> bool: ...

    async def peak_minutes(self, account_id: int, *, since: datetime) -> Sequence[tuple[datetime, str, int]]:
        """Minute, IP and milliseconds at peak."""
        ...


class GroupRecord(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    multiplier: str
    rates: Rates
    accounts: int


class GroupTerms(msgspec.Struct, frozen=True, kw_only=True):
    """What of a group may change: what its accounts may call, and by how much the prices of the book are multiplied for
    them."""

    rates: Rates
    multiplier: Decimal


class GroupDesk(Protocol):
    async def groups(self) -> Sequence[GroupRecord]:
        """By name."""
        ...

    async def add(self, name: str, rates: Rates, *, actor: str, multiplier: Decimal = Decimal(1)) -> None:
        """Raise AlreadyOnFile."""
        ...

    async def change(
        self, name: str, change: Callable[[GroupTerms], GroupTerms], *, actor: str, reason: str = ""
    ) -> GroupTerms:
        """The terms as they are now. Raise NotOnFile."""
        ...

    async def move(self, account_id: int, group: str, *, actor: str, reason: str = "") -> bool:
        """Put an account into another group; whether that was news. Raise NotOnFile."""
        ...

    async def remove(self, name: str, reason: str, *, actor: str) -> None:
        """Raise NotOnFile, and StillInUse where accounts are in it or a model is for it."""
        ...
