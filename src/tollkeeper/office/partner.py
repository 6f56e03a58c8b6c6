"""The partner plan: what accounts earned, and cash that is asked for, approved, paid or refused; and the faucet.

Rules of this file
1. Who approved a withdrawal, signed in or by a key of theirs, does not note its payment, and nobody decides on their
   own.
2. A decision that is sent again, by whom and as it was made, changes nothing and is told as done.
3. The key that the faucet gives is shown in one answer, which is not kept.
"""

from collections.abc import Awaitable
from datetime import datetime
from typing import Annotated

import msgspec

from tollkeeper.accounts.money.faucet import pour
from tollkeeper.accounts.partner import (
    WithdrawalRefused,
    approve_withdrawal,
    pay_withdrawal,
    refuse_withdrawal,
    request_withdrawal,
)
from tollkeeper.accounts.partner import revoke_reward as take_reward_back
from tollkeeper.accounts.reasons import checked_reason
from tollkeeper.core.money.amounts import usd_typed
from tollkeeper.core.money.codes import invite_link
from tollkeeper.core.partner.plan import micros_from_usd
from tollkeeper.core.people.logins import Actor
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.act import MoneyWish, OnceWish, act
from tollkeeper.office.amounts import Amount, amount_of
from tollkeeper.office.desks import Office
from tollkeeper.office.lists import Listed, Paging, listed
from tollkeeper.office.partner_views import (
    PartnerView,
    RevokedReward,
    WithdrawalView,
    partner_view,
    revoked_reward,
    withdrawal_view,
)
from tollkeeper.office.rows import RowOnFile
from tollkeeper.office.top_ups import LetGo
from tollkeeper.office.wishes import AccountNumber, AccountReason, AccountWish, Changed, ReasonText, Usd
from tollkeeper.ports.partner import NewWithdrawal, WithdrawalRecord, WithdrawalState


class WithdrawalsWish(Paging, frozen=True, kw_only=True):
    account: AccountNumber | None = None
    waiting: Annotated[
        bool, msgspec.Meta(description="Those that are neither paid nor refused, the oldest first; or all.")
    ] = True


class WithdrawalNumber(msgspec.Struct, frozen=True, kw_only=True):
    withdrawal: RowOnFile


class DecideWish(MoneyWish, frozen=True, kw_only=True):
    """The reason of a payment is the transfer's own number."""

    withdrawal: RowOnFile


class WithdrawFor(OnceWish, frozen=True, kw_only=True):
    account: AccountNumber
    usd: Usd
    payee: Annotated[str, msgspec.Meta(max_length=1_000, description="Where the money goes.")]
    code: Annotated[str, msgspec.Meta(max_length=200, description="Of the account's second factor.")]
    reason: ReasonText


class AskedWithdrawal(msgspec.Struct, frozen=True, kw_only=True):
    withdrawal: int


class RevokeReward(MoneyWish, frozen=True, kw_only=True):
    reward: RowOnFile
    write_off: LetGo = False


class FaucetFor(AccountReason, frozen=True, kw_only=True):
    ip: Annotated[str, msgspec.Meta(max_length=100, description="Where the customer asks from.")]


class FaucetGiven(msgspec.Struct, frozen=True, kw_only=True):
    key_id: int
    # Shown here and never again.
    key: str
    amount: Amount
    expires_at: datetime


@act("GET", "/accounts/{account}/partner", Scope.READ)
async def show_partner(office: Office, wish: AccountWish, by: Actor) -> PartnerView:
    """An account's gift code, its cash, its rewards and its withdrawals."""
    found, base = await office.partners.statement(wish.account), office.console_url
    return partner_view(wish.account, found, invite_link(base, found.gift_code) if base else None)


@act("GET", "/withdrawals", Scope.READ)
async def list_withdrawals(office: Office, wish: WithdrawalsWish, by: Actor) -> Listed[WithdrawalView]:
    """The withdrawals that wait to be approved, paid or refused, the oldest first; or all, the newest first."""
    if wish.account is not None:
        await office.accounts.need(wish.account)
    rows = await office.partners.withdrawals(
        account_id=wish.account, waiting_only=wish.waiting, after_id=wish.after_row(), limit=wish.limit + 1
    )
    return listed([withdrawal_view(row) for row in rows], wish.limit, lambda row: row.id)


@act("GET", "/withdrawals/{withdrawal}", Scope.READ)
async def show_withdrawal(office: Office, wish: WithdrawalNumber, by: Actor) -> WithdrawalView:
    """A withdrawal: who asked for how much, and who decided what, when and why."""
    found = await office.partners.withdrawal(wish.withdrawal)
    theirs = await office.partners.may_have_approved(found.id, actor=by.name)
    return withdrawal_view(found, approved_by_asker=theirs)


@act("POST", "/accounts/{account}/withdrawals", Scope.MONEY)
async def ask_withdrawal(office: Office, wish: WithdrawFor, by: Actor) -> AskedWithdrawal:
    """Ask for an account's cash, with a code of its second factor. One request waits at a time."""
    asked = NewWithdrawal(account_id=wish.account, usd_micros=micros_from_usd(usd_typed(wish.usd)), payee=wish.payee)
    number = await request_withdrawal(asked, wish.code, office.second_factor, office.partners, actor=by.name)
    return AskedWithdrawal(withdrawal=number)


@act("POST", "/withdrawals/{withdrawal}/approve", Scope.MONEY)
async def approve_cash(office: Office, wish: DecideWish, by: Actor) -> Changed:
    """Approve a withdrawal: it may be paid now, and somebody else notes that it was."""
    deed = approve_withdrawal(wish.withdrawal, wish.reason, office.partners, by=by)
    return await _decided(office, wish, by, deed, WithdrawalState.APPROVED)


@act("POST", "/withdrawals/{withdrawal}/pay", Scope.MONEY)
async def pay_cash(office: Office, wish: DecideWish, by: Actor) -> Changed:
    """Note that an approved withdrawal was paid. The reason is the transfer's own number."""
    deed = pay_withdrawal(wish.withdrawal, wish.reason, office.partners, by=by)
    return await _decided(office, wish, by, deed, WithdrawalState.PAID)


@act("POST", "/withdrawals/{withdrawal}/refuse", Scope.MONEY)
async def refuse_cash(office: Office, wish: DecideWish, by: Actor) -> Changed:
    """Refuse a withdrawal that was not paid; the cash stays with the account."""
    deed = refuse_withdrawal(wish.withdrawal, wish.reason, office.partners, by=by)
    return await _decided(office, wish, by, deed, WithdrawalState.REFUSED)


@act("POST", "/rewards/{reward}/revoke", Scope.MONEY)
async def revoke_reward(office: Office, wish: RevokeReward, by: Actor) -> RevokedReward:
    """Take a reward back, by counter-entries."""
    done = await take_reward_back(wish.reward, wish.reason, office.partners, write_off=wish.write_off, by=by)
    return revoked_reward(done)


@act("POST", "/accounts/{account}/faucet", Scope.MONEY)
async def give_from_faucet(office: Office, wish: FaucetFor, by: Actor) -> FaucetGiven:
    """Give an account its free key, once in 24 hours. It is shown once, in this answer."""
    given = await pour(wish.account, wish.ip, office.faucet_terms, office.key_maker, office.faucet, actor=by.name)
    return FaucetGiven(
        key_id=given.issued.key_id,
        key=given.issued.key,
        amount=amount_of(office.faucet_terms.amount),
        expires_at=given.expires_at,
    )


async def _decided(
    office: Office, wish: DecideWish, by: Actor, deed: Awaitable[None], state: WithdrawalState
) -> Changed:
    """Whether anything changed; not where this very decision was made before. Raise WithdrawalRefused, or NotOnFile."""
    try:
        await deed
    except WithdrawalRefused:
        record = await office.partners.withdrawal(wish.withdrawal)
        if _decision(record, state) != (by.name, checked_reason(wish.reason)):
            raise
        return Changed(False)
    return Changed(True)


def _decision(record: WithdrawalRecord, state: WithdrawalState) -> tuple[str | None, str | None]:
    """By whom it was approved, paid or refused, and why."""
    if state is WithdrawalState.APPROVED:
        return record.approved_by, record.approved_why
    return (record.decided_by, record.reason) if record.state is state else (None, None)


ACTS = (
    show_partner,
    list_withdrawals,
    show_withdrawal,
    ask_withdrawal,
    approve_cash,
    pay_cash,
    refuse_cash,
    revoke_reward,
    give_from_faucet,
)
