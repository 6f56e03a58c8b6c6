"""Redemption codes: made in batches by operators, redeemed once by customers."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Protocol

import msgspec

from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.partner.plan import MicroUsd, ReferralTerms

BATCHES_MOST = 1_000


class NewBatch(msgspec.Struct, frozen=True, kw_only=True):
    codes: int
    quota: Quota
    usd_micros: MicroUsd
    months: int
    note: str = ""
    # Whether others earn by its codes.
    rewards: bool = True
    # For how long its codes are accepted; None: until they are revoked.
    valid_days: int | None = None
    # Why they are made; it stays on the record.
    reason: str = ""


class OpenedBatch(msgspec.Struct, frozen=True):
    batch_id: int
    # Opened under the same name some time ago: nothing was made now.
    was_before: bool


class Filled(StrEnum):
    """What became of the codes that were to fill a batch."""

    FILLED = "filled"
    FILLED_BEFORE = "filled_before"
    REVOKED = "revoked"
    UNKNOWN = "unknown"


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
    # From then on its codes are accepted no more; None: never.
    expires_at: datetime | None
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
    async def open_batch(self, batch: NewBatch, *, once: str, actor: str) -> OpenedBatch:
        """A batch that has no codes yet. Under one name it is opened once."""
        ...

    async def fill_batch(self, batch_id: int, digests: Sequence[bytes], *, actor: str) -> Filled:
        """Its codes, as many as it was opened for. From now on they are accepted."""
        ...

    async def batches(self, *, before_id: int | None = None, limit: int = BATCHES_MOST) -> Sequence[BatchRecord]:
        """The newest first."""
        ...

    async def batch(self, batch_id: int) -> BatchRecord:
        """Raise NotOnFile."""
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


class TopUpRecord(TopUp, frozen=True, kw_only=True):
    """A top-up as staff see it."""

    account_id: int
    batch_id: int
    revoked_by: str | None
    revoke_reason: str | None
    # Of one that was revoked: of its own lot.
    taken_back: Quota | None
    owed: Quota | None
    written_off: Quota | None


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

    async def top_up(self, top_up_id: int) -> TopUpRecord:
        """Raise NotOnFile."""
        ...

    async def top_up_page(self, *, account_id: int | None, before_id: int | None, limit: int) -> Sequence[TopUpRecord]:
        """The newest first; of one account, or of all."""
        ...
