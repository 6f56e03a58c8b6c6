"""Accounts as staff find them, what each has, and what happened to it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

import msgspec

from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.people.logins import Role


class CustomerState(StrEnum):
    OPEN = "open"
    DISABLED = "disabled"
    # By its owner; it is disabled, too.
    CLOSED = "closed"


class AccountSearch(msgspec.Struct, frozen=True, kw_only=True):
    """Whom to look for; whoever fits one of these is found. All None: everybody."""

    # Beginnings of words of the name; all of them must be there.
    words: Sequence[str] | None = None
    email_start: str | None = None
    # The end of a key's hint: its last four characters.
    hint_end: str | None = None
    # The beginning of a key's hint, where it is known: `sk-A`.
    hint_start: str | None = None
    number: int | None = None

    @property
    def is_open(self) -> bool:
        return self == AccountSearch()


class AccountRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An account as it stands in a list."""

    account_id: int
    name: str
    # None: it has no login.
    email: str | None
    group: str
    state: CustomerState
    is_restricted: bool
    created_at: datetime
    # Of all lots that can be drawn from, less what is owed; never below nothing.
    balance: Quota


class CustomerStanding(msgspec.Struct, frozen=True, kw_only=True):
    """All that an account has, at one moment."""

    account_id: int
    name: str
    group: str
    state: CustomerState
    created_at: datetime
    # None: not restricted now.
    restricted_until: datetime | None
    # Clients that are banned now because of its calls.
    banned_ips: Sequence[str]
    invited_by: int | None
    # Lots that any key can draw from, and lots of single keys.
    free: Quota
    bound: Quota
    # By calls under way.
    held: Quota
    debt: Quota
    used: Quota
    # When the next lot with something in it expires.
    next_expiry: datetime | None
    keys_in_use: int
    email: str | None
    role: Role | None
    second_factor: bool

    @property
    def balance(self) -> Quota:
        return Quota(max(0, self.free + self.bound - self.debt))


class Roster(Protocol):
    async def page(
        self, search: AccountSearch, *, lapsing_only: bool = False, before_id: int | None, limit: int
    ) -> Sequence[AccountRecord]:
        """The newest first. `lapsing_only`: with a lot that lapses within seven days with something left in it."""
        ...

    async def standing(self, account_id: int) -> CustomerStanding:
        """Raise NotOnFile."""
        ...


class TimelinePlace(msgspec.Struct, frozen=True, array_like=True):
    """Where an event stands: by time, then by what tells of it, then by its number there."""

    at: datetime
    origin: int
    number: int


class AccountEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened to an account, or to what it has."""

    place: TimelinePlace
    # As the audit trail names actions: `key.create`.
    what: str
    by: str
    # To what of it: `key:7`.
    subject: str
    # What came in (more than nothing) or went (less), where that is known.
    amount: int | None
    detail: Mapping[str, Any]


class Timelines(Protocol):
    async def page(self, account_id: int, *, before: TimelinePlace | None, limit: int) -> Sequence[AccountEvent]:
        """The newest first. Raise NotOnFile."""
        ...
