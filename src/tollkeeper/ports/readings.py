"""Staff who read the console as a customer, without being able to act."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

import msgspec


class ReadAs(msgspec.Struct, frozen=True, kw_only=True):
    """As whom a session of staff reads the console, and until when at the latest."""

    reading_id: int
    session_id: int
    account_id: int
    account_name: str
    reason: str
    until: datetime
    # Of the customer's login, now. False where nobody signs in to the account.
    has_second_factor: bool
    # Who was made staff meanwhile is not read as any more.
    is_staff: bool
    is_over: bool


class ReadingRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Who read as whom, by their accounts. `ended_at`: null where nobody noted an end; it holds until then at most."""

    reading: int
    reader: int
    account: int
    reason: str
    began_at: datetime
    until: datetime
    ended_at: datetime | None


class ReadAsDesk(Protocol):
    async def page(self, account_id: int | None, *, before_id: int | None, limit: int) -> Sequence[ReadingRecord]:
        """Readings as one account, or as any; the newest first."""
        ...

    async def stop(self, reading_id: int, *, actor: str) -> bool:
        """End it by its number; whether it was not ended before. Raise NotOnFile."""
        ...

    async def begin(self, session_id: int, account_id: int, reason: str, *, actor: str) -> datetime:
        """Read as this account from now on, instead of another; until when. Raise NotOnFile."""
        ...

    async def of(self, session_id: int) -> ReadAs | None:
        """The one that was begun and not ended, also where its time is up."""
        ...

    async def end(self, reading: ReadAs, how: str, *, actor: str) -> bool:
        """Whether it was not ended before. `how`: stands on the record."""
        ...
