"""Accounts that their owners close, and what is forgotten of them later."""

from datetime import timedelta
from typing import Protocol


class Closings(Protocol):
    async def close(self, account_id: int, *, actor: str) -> bool:
        """Revoke its keys, end its sessions, and let nobody in any more. Whether that was news. Raise NotOnFile."""
        ...


class ClosedAccounts(Protocol):
    async def forget(self, kept: timedelta) -> int:
        """Remove the logins and names of some accounts that were closed longer ago than this; of how many."""
        ...
