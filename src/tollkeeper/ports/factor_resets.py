"""Second factors and passkeys that staff drop for people who lost them: one asks, another confirms."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Protocol

import msgspec


class FactorKind(StrEnum):
    SECOND_FACTOR = "second_factor"
    PASSKEYS = "passkeys"


class ResetOutcome(StrEnum):
    DONE = "done"
    REFUSED = "refused"


class ResetVerdict(StrEnum):
    """What became of asking for a reset, or of deciding on it."""

    ASKED = "asked"
    DONE = "done"
    REFUSED = "refused"
    ASKED_BEFORE = "asked_before"
    NOTHING_THERE = "nothing_there"
    DECIDED_BEFORE = "decided_before"
    EXPIRED = "expired"
    SAME_PERSON = "same_person"
    OWN = "own"
    NEWER = "newer"
    UNKNOWN = "unknown"


class ResetRecord(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    account_id: int
    what: FactorKind
    reason: str
    asked_at: datetime
    asked_by: str
    # From then on nobody can confirm it.
    expires_at: datetime
    outcome: ResetOutcome | None
    decided_at: datetime | None
    decided_by: str | None
    decide_reason: str | None


class FactorResets(Protocol):
    async def ask(
        self, account_id: int, what: FactorKind, reason: str, *, actor: str
    ) -> tuple[ResetVerdict, int | None]:
        """ASKED: its number, and the owner is told. DONE, where commands on the database's own host ask: the factor is
        dropped, every session is over, and the owner is told."""
        ...

    async def confirm(self, reset_id: int, reason: str, *, actor: str) -> ResetVerdict:
        """DONE: the factor is dropped, every session is over, and the owner is told."""
        ...

    async def refuse(self, reset_id: int, reason: str, *, actor: str) -> ResetVerdict: ...

    async def record(self, reset_id: int) -> ResetRecord:
        """Raise NotOnFile."""
        ...

    async def page(
        self, *, account_id: int | None, waiting_only: bool, before_id: int | None, limit: int
    ) -> Sequence[ResetRecord]:
        """The newest first."""
        ...
