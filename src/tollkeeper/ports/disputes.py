"""Disputed charges: opened by customers, decided by staff."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Protocol
from uuid import UUID

import msgspec

from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.usage.disputes import DisputeKind, DisputeState


class DisputeRecord(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    request_id: UUID
    account_id: int
    kind: DisputeKind
    note: str
    charged: Quota
    opened_at: datetime
    state: DisputeState
    decided_at: datetime | None
    decided_by: str | None
    # Where it was declined, the customer reads it.
    reason: str | None
    credited: Quota | None
    lot_id: int | None


class NewDispute(msgspec.Struct, frozen=True, kw_only=True):
    request_id: UUID
    account_id: int
    kind: DisputeKind
    note: str
    # Whether the whole charge comes back now.
    at_once: bool


class DisputeVerdict(StrEnum):
    """What became of a wish to dispute a charge, or to decide on it."""

    OPENED = "opened"
    CREDITED = "credited"
    DECLINED = "declined"
    DISPUTED_BEFORE = "disputed_before"
    NOTHING_CHARGED = "nothing_charged"
    TOO_OLD = "too_old"
    DAY_FULL = "day_full"
    CREDITED_BEFORE = "credited_before"
    DECLINED_BEFORE = "declined_before"
    OWN = "own"
    TOO_MUCH = "too_much"
    UNKNOWN = "unknown"


class Disputes(Protocol):
    async def open(self, dispute: NewDispute, *, actor: str) -> DisputeVerdict:
        """OPENED and CREDITED: it is on file."""
        ...

    async def of_call(self, request_id: UUID, *, account_id: int | None) -> DisputeRecord | None:
        """With `account_id`, only if it is that account's."""
        ...

    async def page(
        self, *, account_id: int | None, open_only: bool, before_id: int | None, limit: int
    ) -> Sequence[DisputeRecord]:
        """The newest first."""
        ...

    async def credit(self, request_id: UUID, amount: Quota, reason: str, *, actor: str) -> DisputeVerdict: ...

    async def decline(self, request_id: UUID, words: str, *, actor: str) -> DisputeVerdict: ...
