"""The partner plan as staff are told of it."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from tollkeeper.core.money.amounts import Quota, usd_exact
from tollkeeper.core.partner.plan import usd_of_micros
from tollkeeper.office.amounts import Cash, cash_of
from tollkeeper.ports.partner import (
    PartnerStatement,
    RewardKind,
    RewardRecord,
    RewardRevoked,
    WithdrawalRecord,
    WithdrawalState,
)


class CashView(msgspec.Struct, frozen=True, kw_only=True):
    """granted = pending + available + paid + revoked; `requested` is a part of what is available."""

    granted: Cash
    pending: Cash
    available: Cash
    paid: Cash
    revoked: Cash
    requested: Cash


class RewardAmount(msgspec.Struct, frozen=True):
    """`units` are micro-USD of cash, and micro-quota of a gift."""

    units: int
    usd: str


class RewardView(msgspec.Struct, frozen=True, kw_only=True):
    """`full_amount` is what the rule gives, `amount` what the month's cap left of it."""

    id: int
    kind: RewardKind
    top_up: int
    amount: RewardAmount
    full_amount: RewardAmount
    granted_at: datetime
    available_at: datetime
    revoked_at: datetime | None
    revoked_by: str | None
    why: str | None


class WithdrawalView(msgspec.Struct, frozen=True, kw_only=True):
    """The reason of one that was paid is the transfer's own number. `approved_by_asker`: whether whoever asks may be
    the person who approved it, and so cannot note its payment; null in lists."""

    id: int
    account: int
    amount: Cash
    payee: str
    state: WithdrawalState
    requested_at: datetime
    approved_at: datetime | None
    approved_by: str | None
    approved_why: str | None
    decided_at: datetime | None
    decided_by: str | None
    reason: str | None
    approved_by_asker: bool | None = None


class PartnerView(msgspec.Struct, frozen=True, kw_only=True):
    """Rewards and withdrawals: the newest thousand of each."""

    account: int
    gift_code: str
    invite_link: str | None
    invited: int
    cash: CashView
    rewards: Sequence[RewardView]
    withdrawals: Sequence[WithdrawalView]


class RevokedReward(msgspec.Struct, frozen=True, kw_only=True):
    """`was_before`: all of that was done earlier, and nothing now."""

    kind: RewardKind
    was_before: bool
    taken_back: RewardAmount
    owed: RewardAmount
    written_off: RewardAmount


def partner_view(account: int, found: PartnerStatement, link: str | None) -> PartnerView:
    cash = found.cash
    return PartnerView(
        account=account,
        gift_code=found.gift_code,
        invite_link=link,
        invited=found.invited,
        cash=CashView(
            granted=cash_of(cash.granted),
            pending=cash_of(cash.pending),
            available=cash_of(cash.available),
            paid=cash_of(cash.paid),
            revoked=cash_of(cash.revoked),
            requested=cash_of(cash.requested),
        ),
        rewards=[reward_view(reward) for reward in found.rewards],
        withdrawals=[withdrawal_view(each) for each in found.withdrawals],
    )


def reward_view(reward: RewardRecord) -> RewardView:
    return RewardView(
        id=reward.id,
        kind=reward.kind,
        top_up=reward.top_up_id,
        amount=_reward_amount(reward.kind, reward.amount),
        full_amount=_reward_amount(reward.kind, reward.full_amount),
        granted_at=reward.granted_at,
        available_at=reward.available_at,
        revoked_at=reward.revoked_at,
        revoked_by=reward.revoked_by,
        why=reward.why,
    )


def withdrawal_view(each: WithdrawalRecord, *, approved_by_asker: bool | None = None) -> WithdrawalView:
    return WithdrawalView(
        id=each.id,
        account=each.account_id,
        amount=cash_of(each.usd_micros),
        payee=each.payee,
        state=each.state,
        requested_at=each.requested_at,
        approved_at=each.approved_at,
        approved_by=each.approved_by,
        approved_why=each.approved_why,
        decided_at=each.decided_at,
        decided_by=each.decided_by,
        reason=each.reason,
        approved_by_asker=approved_by_asker,
    )


def revoked_reward(done: RewardRevoked) -> RevokedReward:
    return RevokedReward(
        kind=done.kind,
        was_before=done.before,
        taken_back=_reward_amount(done.kind, done.taken_back),
        owed=_reward_amount(done.kind, done.owed),
        written_off=_reward_amount(done.kind, done.written_off),
    )


def _reward_amount(kind: RewardKind, units: int) -> RewardAmount:
    is_cash = kind is RewardKind.REFERRAL_CASH
    return RewardAmount(units, usd_of_micros(units) if is_cash else usd_exact(Quota(units)))
