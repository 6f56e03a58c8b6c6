"""Calls that were refused before anything was held for them: kept for a day, so that support can say why."""

from collections.abc import Callable
from datetime import datetime
from typing import Protocol
from uuid import UUID

import msgspec


class RefusedCall(msgspec.Struct, frozen=True, kw_only=True):
    """`code`: our own name of the refusal, as the caller was told. Nothing of what was sent."""

    request_id: UUID
    account_id: int
    key_id: int
    code: str
    at: datetime


# Request id, account, key and code of a call that was refused. Returns at once.
NoteRefused = Callable[[UUID, int, int, str], None]


class RefusedCalls(Protocol):
    async def find(self, request_id: UUID, *, account_id: int | None) -> RefusedCall | None:
        """With `account_id`, only if it is that account's."""
        ...
