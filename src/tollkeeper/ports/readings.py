"""Staff who read the console as a customer, without being able to act."""

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


class ReadAsDesk(Protocol):
    async def begin(self, session_id: int, account_id: int, reason: str, *, actor: str) -> datetime:
        """Read as this account from now on, instead of another; until when. Raise NotOnFile."""
        ...

    async def of(self, session_id: int) -> ReadAs | None:
        """The one that was begun and not ended, also where its time is up."""
        ...

    async def end(self, reading: ReadAs, how: str, *, actor: str) -> bool:
        """Whether it was not ended before. `how`: stands on the record."""
        ...
