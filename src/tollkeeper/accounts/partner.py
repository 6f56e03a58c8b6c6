"""The partner plan: withdrawals, which take a second factor, and what support decides, which takes a reason.

Rules of this file
1. Cash is asked for, approved, and then paid; support may refuse it until it is paid.
2. Nothing is approved for an account that is disabled, unless its owner closed it, nor what its cash does not cover at
   that moment. What was approved can always be noted as paid, for then the money is gone; to stop it, it is refused.
3. Support decides and revokes, but approves and pays nothing of its own; and who approved a request, signed in or by an
   operator key of theirs, does not note its payment.
"""

from collections.abc import Mapping

import msgspec

from tollkeeper.accounts.money.redeem import AccountIsDisabled
from tollkeeper.accounts.people.staff import require_role
from tollkeeper.accounts.reasons import checked_reason
from tollkeeper.core.partner.plan import usd_of_micros
from tollkeeper.core.people.logins import Actor, Role
from tollkeeper.ports import NotOnFile
from tollkeeper.ports.partner import (
    Decided,
    NewWithdrawal,
    PartnerDesk,
    Requested,
    RewardRevoked,
    WithdrawalRequest,
    WithdrawalState,
)
from tollkeeper.ports.people import SecondFactor

PAYEE_CHARACTERS_MOST = 200
NO_CODE = (
    "A withdrawal takes a code of the account's second factor, and this is none of its codes. Nothing was asked for. "
    "A second factor is set up in the console, on the page Security."
)


# What support is told where a request, whose number stands in it, was not decided as it should be.
UNDECIDED: Mapping[Decided, str] = {
    Decided.DECIDED_BEFORE: "Request {} was decided before. Nothing was done.",
    Decided.NOT_APPROVED: "Do not pay: request {} is not approved yet. Nothing was done.",
    Decided.OWN: "Request {} is of your own account. Somebody else must decide it. Nothing was done.",
    Decided.SAME_PERSON: "Request {} may have been approved by you: by the same login or another of its mailbox, by a "
    "key that one made for the other, or by an operator key that belongs to no login. Somebody else, signed in or by a "
    "key of their own, notes the payment. Nothing was done.",
    Decided.ACCOUNT_DISABLED: "Do not pay: the account of request {} is disabled. Nothing was done.",
    Decided.SHORT: "Do not pay: cash was revoked since, and does not cover request {} any more. Refuse it.",
}


class WithdrawalRefused(ValueError):
    """Cash that cannot be asked for, or not be paid, now; the message says why."""

    def __init__(self, message: str, asked: WithdrawalRequest | None = None) -> None:
        """`asked`: what became of the request, where it came that far."""
        self.asked = asked
        super().__init__(message)


async def request_withdrawal(
    wish: NewWithdrawal, code: str, second_factor: SecondFactor, desk: PartnerDesk, *, actor: str = ""
) -> int:
    """Ask for cash, with a code of the second factor; the request's number. `actor`: who does it for the customer, if
    anybody does. Raise WithdrawalRefused, AccountIsDisabled, NotOnFile, or what the second factor raises."""
    wish = msgspec.structs.replace(wish, payee=checked_payee(wish.payee))
    if not await second_factor.check(wish.account_id, code):
        raise WithdrawalRefused(NO_CODE)
    asked = await desk.withdraw(wish, actor=actor or f"account:{wish.account_id}")
    if asked.verdict is Requested.UNKNOWN_ACCOUNT:
        raise NotOnFile(f"There is no account {wish.account_id}.")
    if asked.verdict is Requested.ACCOUNT_DISABLED:
        raise AccountIsDisabled
    if asked.verdict is not Requested.REQUESTED:
        raise WithdrawalRefused(_why_not(asked, wish), asked)
    return asked.withdrawal_id or 0


async def approve_withdrawal(withdrawal_id: int, reason: str, desk: PartnerDesk, *, by: Actor) -> None:
    """It may be paid now. Raise RoleMissing, WithdrawalRefused, or NotOnFile."""
    await _decide(withdrawal_id, WithdrawalState.APPROVED, checked_reason(reason), desk, by=by)


async def pay_withdrawal(withdrawal_id: int, reference: str, desk: PartnerDesk, *, by: Actor) -> None:
    """Note that support paid an approved request, by the transfer of that reference. Raise RoleMissing,
    WithdrawalRefused, or NotOnFile."""
    await _decide(withdrawal_id, WithdrawalState.PAID, checked_reason(reference), desk, by=by)


async def refuse_withdrawal(withdrawal_id: int, reason: str, desk: PartnerDesk, *, by: Actor) -> None:
    """The cash stays available. Raise RoleMissing, WithdrawalRefused where it was decided before, or NotOnFile."""
    await _decide(withdrawal_id, WithdrawalState.REFUSED, checked_reason(reason), desk, by=by)


async def revoke_reward(reward_id: int, why: str, desk: PartnerDesk, *, write_off: bool, by: Actor) -> RewardRevoked:
    """Raise RoleMissing, or NotOnFile."""
    require_role(by, Role.SUPPORT)
    return await desk.revoke_reward(reward_id, write_off=write_off, why=checked_reason(why), actor=by.name)


def checked_payee(text: str) -> str:
    payee = text.strip()
    if not 1 <= len(payee) <= PAYEE_CHARACTERS_MOST or not payee.isprintable():
        raise ValueError(
            f"Say where the money goes, in 1 to {PAYEE_CHARACTERS_MOST} characters on one line. Nothing was asked for."
        )
    return payee


def _why_not(asked: WithdrawalRequest, wish: NewWithdrawal) -> str:
    available = usd_of_micros(asked.available)
    told = {
        Requested.REQUESTED_BEFORE: f"Request {asked.withdrawal_id} is not decided yet. Wait for that one.",
        Requested.OWED: f"There is nothing to withdraw: {available} USD, paid out and revoked, is owed.",
        Requested.SHORT: f"{available} USD can be withdrawn now, not {usd_of_micros(wish.usd_micros)}.",
    }
    if asked.possible_at is not None:
        told[Requested.FACTOR_TOO_NEW] = (
            "The second factor is less than 72 hours old, and nothing was asked for. It will be possible after "
            f"{asked.possible_at:%Y-%m-%d %H:%M:%S} UTC. If it was not you who set it up, write to support."
        )
    return told[asked.verdict]


async def _decide(withdrawal_id: int, state: WithdrawalState, reason: str, desk: PartnerDesk, *, by: Actor) -> None:
    require_role(by, Role.SUPPORT)
    decided = await desk.decide(withdrawal_id, state, reason=reason, actor=by.name)
    if decided.value != state.value:
        raise WithdrawalRefused(UNDECIDED[decided].format(withdrawal_id))
