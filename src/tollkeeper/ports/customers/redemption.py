"""Redemption codes: made in batches by operators, redeemed once by customers."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Protocol

import msgspec

from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.partner.plan import MicroUsd, ReferralTerms


class NewBatch(msgspec.Struct, frozen=True, kw_only=True):
    digests: Sequence[bytes]
    quota: Quota
    usd_micros: MicroUsd
    months: int
    note: str = ""
    # Whether others earn by its codes.
    rewards: bool = True


class BatchRecord(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    made_by: str
    made_at: datetime
    codes: int
    redeemed: int
    usd_micros: MicroUsd
    months: int
    note: str
    rewards: bool
    # None: nobody was ever given its codes, and none is accepted.
    exported_at: datetime | None
    revoked_at: datetime | None
    revoked_by: str | None
    revoke_reason: str | None


class TopUpRevoked(msgspec.Struct, frozen=True, kw_only=True):
    """What taking a top-up back did to its own lot, and how many rewards went with it."""

    # Not news.
    before: bool
    taken_back: Quota
    owed: Quota
    written_off: Quota
    rewards: int


class CodeDesk(Protocol):
    async def make(self, batch: NewBatch, *, actor: str) -> int: ...

    async def mark_exported(self, batch_id: int, *, actor: str) -> bool:
        """From now on its codes are accepted. Whether that was news."""
        ...

    async def batches(self) -> Sequence[BatchRecord]:
        """The newest first."""
        ...

    async def revoke(self, batch_id: int, reason: str, *, actor: str) -> int | None:
        """How many codes are refused from now on; None where it was revoked before. Raise NotOnFile."""
        ...

    async def revoke_top_up(self, top_up_id: int, *, write_off: bool, why: str, actor: str) -> TopUpRevoked:
        """In one transaction: its lot, and every reward that came of it. What was spent or paid out is owed, or written
        off. Raise NotOnFile."""
        ...


class Redeemed(StrEnum):
    """What became of an attempt. Callers are told of the first two, of the last three, and that others failed."""

    REDEEMED = "redeemed"
    # By the same account, before.
    REPLAYED = "replayed"
    UNKNOWN = "unknown"
    USED = "used"
    # Its batch was revoked, or never handed out.
    CLOSED = "closed"
    UNKNOWN_GIFT_CODE = "unknown_gift_code"
    # The account's own, or of another account of the same person.
    OWN_GIFT_CODE = "own_gift_code"
    LOOP = "loop"
    LOCKED = "locked"
    UNKNOWN_ACCOUNT = "unknown_account"
    ACCOUNT_DISABLED = "account_disabled"


class RedeemAttempt(msgspec.Struct, frozen=True, kw_only=True):
    account_id: int
    digest: bytes
    # None: none was entered. Empty: something that is none.
    gift_code: str | None = None
    # As bans name a client; empty at an operator's desk, where nothing is counted.
    ip: str = ""


class TopUp(msgspec.Struct, frozen=True, kw_only=True):
    """Kept for ever."""

    id: int
    at: datetime
    quota: Quota
    usd_micros: MicroUsd
    lot_id: int
    lot_expires_at: datetime
    # What came on top because a gift code was entered.
    gift: Quota
    # When it was taken back, because its payment was.
    revoked_at: datetime | None = None


class Redemption(msgspec.Struct, frozen=True):
    verdict: Redeemed
    top_up: TopUp | None = None
    locked_until: datetime | None = None


class Redemptions(Protocol):
    async def redeem(self, attempt: RedeemAttempt, terms: ReferralTerms, *, actor: str) -> Redemption:
        """In one transaction: the code taken, quota in, and whatever others earn by it; or nothing of that."""
        ...

    async def top_ups(self, account_id: int) -> Sequence[TopUp]:
        """The newest first."""
        ...
