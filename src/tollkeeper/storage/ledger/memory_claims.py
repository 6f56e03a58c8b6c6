"""Calls that must not be paid for twice, in memory: the rules of `hold_once_batch` in plain Python."""

from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from tollkeeper.core.money.amounts import Quota
from tollkeeper.ports import CallClaim, HoldOrder, HoldOutcome, HoldVerdict

CLAIMED_FOR = timedelta(days=1)


class MemoryCall(msgspec.Struct, frozen=True):
    """What the books have of the call that has a key."""

    key_id: int
    held: int
    charged: int | None


class _Taken(msgspec.Struct, frozen=True):
    body: bytes
    request_id: UUID
    at: datetime


class MemoryClaims:
    def __init__(self, now: Callable[[], datetime], find: Callable[[UUID], MemoryCall | None]) -> None:
        self._now = now
        self._find = find
        self._taken: dict[tuple[int, bytes], _Taken] = {}

    def judge(self, order: HoldOrder) -> HoldVerdict | None:
        """What stands against an order; None where its key is free, or it has none."""
        claim = order.claim
        taken = None if claim is None else self._taken.get((order.account_id, claim.digest))
        if claim is None or taken is None or taken.at <= self._now() - CLAIMED_FOR:
            return None
        call = self._find(taken.request_id)
        if taken.request_id == order.request_id or call is None or call.charged == 0:
            return None
        first = taken.request_id if call.key_id == order.key_id else None
        if taken.body != claim.body:
            outcome = HoldOutcome.OTHER_BODY
        else:
            outcome = HoldOutcome.REPEATED_RUNNING if call.charged is None else HoldOutcome.REPEATED
        return HoldVerdict(outcome, Quota(call.held if call.charged is None else call.charged), first)

    def take(self, order: HoldOrder) -> None:
        """An order was admitted."""
        if order.claim is not None and order.claim.is_taken:
            self.note(order.request_id, order.account_id, order.claim)

    def note(self, request_id: UUID, account_id: int, claim: CallClaim) -> None:
        self._taken[account_id, claim.digest] = _Taken(claim.body, request_id, self._now())
