"""The partner plan: rewards, and cash that can be withdrawn."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Protocol

import msgspec

from tollkeeper.core.partner.plan import MicroUsd

WITHDRAWALS_MOST = 1_000


class CashStanding(msgspec.Struct, frozen=True, kw_only=True):
    """granted = pending + available + paid + revoked."""

    granted: MicroUsd
    pending: MicroUsd
    # Below zero: what was paid out was revoked later, and is owed.
    available: MicroUsd
    paid: MicroUsd
    revoked: MicroUsd
    # The part of `available` that was asked for, and is neither paid nor refused yet.
    requested: MicroUsd


class RewardKind(StrEnum):
    GIFT_GIVEN = "gift_given"
    GIFT_RECEIVED = "gift_received"
    REFERRAL_CASH = "referral_cash"


class RewardRecord(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    kind: RewardKind
    top_up_id: int
    # Micro-quota, or micro-USD of cash: what the rule gives, and what the month's cap left of it.
    full_amount: int
    amount: int
    granted_at: datetime
    available_at: datetime
    revoked_at: datetime | None
    revoked_by: str | None
    why: str | None


class WithdrawalState(StrEnum):
    """requested → approved → paid; or refused, from either of the first two."""

    REQUESTED = "requested"
    APPROVED = "approved"
    PAID = "paid"
    REFUSED = "refused"


class NewWithdrawal(msgspec.Struct, frozen=True, kw_only=True):
    account_id: int
    usd_micros: MicroUsd
    # Where the money goes, in the customer's words.
    payee: str


class WithdrawalRecord(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    account_id: int
    usd_micros: MicroUsd
    payee: str
    requested_at: datetime
    state: WithdrawalState
    approved_at: datetime | None
    approved_by: str | None
    approved_why: str | None
    # Of one that was paid, the reason is the transfer's reference.
    decided_at: datetime | None
    decided_by: str | None
    reason: str | None


class PartnerStatement(msgspec.Struct, frozen=True, kw_only=True):
    gift_code: str
    # How many accounts were opened by this one's invite.
    invited: int
    cash: CashStanding
    # The newest first.
    rewards: Sequence[RewardRecord]
    withdrawals: Sequence[WithdrawalRecord]


class Requested(StrEnum):
    """What became of a request for cash."""

    REQUESTED = "requested"
    # One that is neither paid nor refused yet is there already.
    REQUESTED_BEFORE = "requested_before"
    FACTOR_TOO_NEW = "factor_too_new"
    OWED = "owed"
    SHORT = "short"
    UNKNOWN_ACCOUNT = "unknown_account"
    ACCOUNT_DISABLED = "account_disabled"


class WithdrawalRequest(msgspec.Struct, frozen=True):
    verdict: Requested
    withdrawal_id: int | None
    available: MicroUsd
    # From when the second factor is old enough, where it is not.
    possible_at: datetime | None = None


class Decided(StrEnum):
    APPROVED = "approved"
    PAID = "paid"
    REFUSED = "refused"
    DECIDED_BEFORE = "decided_before"
    # Only what is approved is paid.
    NOT_APPROVED = "not_approved"
    # Of whoever decides.
    OWN = "own"
    # Who approved it by an operator key does not pay it by that key.
    SAME_PERSON = "same_person"
    ACCOUNT_DISABLED = "account_disabled"
    # Cash was revoked since it was asked for.
    SHORT = "short"


class RewardRevoked(msgspec.Struct, frozen=True, kw_only=True):
    """What revoking a reward did: micro-quota, or micro-USD of cash."""

    kind: RewardKind
    # Not news.
    before: bool
    taken_back: int
    owed: int
    written_off: int


class PartnerDesk(Protocol):
    async def statement(self, account_id: int) -> PartnerStatement:
        """Raise NotOnFile."""
        ...

    async def withdrawals(
        self,
        *,
        account_id: int | None = None,
        waiting_only: bool = True,
        after_id: int | None = None,
        limit: int = WITHDRAWALS_MOST,
    ) -> Sequence[WithdrawalRecord]:
        """Withdrawals that support has to approve, to pay or to refuse, the oldest first; or all, the newest first."""
        ...

    async def withdrawal(self, withdrawal_id: int) -> WithdrawalRecord:
        """Raise NotOnFile."""
        ...

    async def may_have_approved(self, withdrawal_id: int, *, actor: str) -> bool:
        """Whether the person who acts by this name may be the one who approved it, by whichever key."""
        ...

    async def withdraw(self, wish: NewWithdrawal, *, actor: str) -> WithdrawalRequest: ...

    async def decide(self, withdrawal_id: int, state: WithdrawalState, *, reason: str, actor: str) -> Decided:
        """Approve, pay or refuse a request. Raise NotOnFile."""
        ...

    async def revoke_reward(self, reward_id: int, *, write_off: bool, why: str, actor: str) -> RewardRevoked:
        """By counter-entries. What was spent or paid out is owed, or written off. Raise NotOnFile."""
        ...
