"""The partner plan: an invite link, a gift code, what they brought, and cash that can be withdrawn.

Rules of this file
1. A withdrawal takes a code of the second factor, and its form is taken once.
"""

from decimal import Decimal

import msgspec
from starlette.responses import Response

from tollkeeper.accounts.money.redeem import AccountIsDisabled
from tollkeeper.accounts.partner import PAYEE_CHARACTERS_MOST, WithdrawalRefused, checked_payee, request_withdrawal
from tollkeeper.console.figures import moment, usd
from tollkeeper.console.keys.key_form import AMOUNT
from tollkeeper.console.pages import get, post
from tollkeeper.console.visit import Visit
from tollkeeper.core.money.amounts import NotAnAmount, Quota
from tollkeeper.core.money.codes import invite_link
from tollkeeper.core.partner.plan import CASH_MILLIONTHS, GIFT_MILLIONTHS, MicroUsd, micros_from_usd, quota_of_micros
from tollkeeper.core.people.logins import LoginRefusal
from tollkeeper.ports.partner import NewWithdrawal, Requested, RewardKind, RewardRecord, WithdrawalRequest

PAGE = "partner.html"
MILLIONTHS_PER_HUNDREDTH = 10_000


class RewardLine(msgspec.Struct, frozen=True):
    """A reward with its amounts in units of quota, whichever kind it is of."""

    reward: RewardRecord
    amount: Quota
    full_amount: Quota


async def show(visit: Visit, *, status: int = 200) -> Response:
    found = await visit.desks.partners.statement(visit.account_id)
    base = visit.site.console_url or f"http://{visit.request.url.netloc}"
    terms = visit.desks.referral_terms
    return visit.page(
        PAGE,
        status=status,
        link=invite_link(base, found.gift_code),
        found=found,
        cash={name: quota_of_micros(micros) for name, micros in msgspec.structs.asdict(found.cash).items()},
        rewards=[_line(reward) for reward in found.rewards],
        withdrawals=[(each, quota_of_micros(each.usd_micros)) for each in found.withdrawals],
        terms=terms,
        cash_cap=quota_of_micros(terms.cash_cap),
        cash_share=Decimal(CASH_MILLIONTHS) / MILLIONTHS_PER_HUNDREDTH,
        gift_share=GIFT_MILLIONTHS // MILLIONTHS_PER_HUNDREDTH,
        now=visit.desks.now(),
    )


async def withdraw(visit: Visit) -> Response:
    amount, payee = _amount(visit), _payee(visit)
    if amount is None or payee is None:
        return await show(visit)
    wish = NewWithdrawal(account_id=visit.account_id, usd_micros=amount, payee=payee)
    desks = visit.desks
    try:
        await request_withdrawal(wish, visit.form.text("code"), desks.second_factor, desks.partners)
    except WithdrawalRefused as refused:
        _refuse(visit, refused.asked)
        return await show(visit)
    except LoginRefusal as refusal:
        return await show(visit, status=visit.refuse(refusal))
    except AccountIsDisabled:
        visit.form.refuse("", visit.gettext("This account is disabled. Write to support."))
        return await show(visit, status=403)
    return visit.go("/partner", done="withdrawal-asked")


def _amount(visit: Visit) -> MicroUsd | None:
    found = AMOUNT.fullmatch(visit.form.text("amount"))
    try:
        if found:
            return micros_from_usd(Decimal(found[1]))
    except NotAnAmount:
        pass
    visit.form.refuse("amount", visit.gettext("This is no amount in USD. Write 5 or 12.50."))
    return None


def _payee(visit: Visit) -> str | None:
    try:
        return checked_payee(visit.form.text("payee"))
    except ValueError:
        told = visit.gettext("Say where the money goes, in 1 to %(most)s characters.", most=PAYEE_CHARACTERS_MOST)
        visit.form.refuse("payee", told)
        return None


def _refuse(visit: Visit, asked: WithdrawalRequest | None) -> None:
    """Say why, beside the field that it is about."""
    if asked is None:
        told = visit.gettext("This is no code of your second factor, or it was used before. Nothing was asked for.")
        visit.form.refuse("code", told)
    elif asked.verdict is Requested.REQUESTED_BEFORE:
        visit.form.refuse("", visit.gettext("A request of yours is not decided yet. Wait for that one."))
    elif asked.verdict is Requested.FACTOR_TOO_NEW and asked.possible_at is not None:
        told = visit.gettext(
            "Your second factor is less than 72 hours old. You can withdraw after %(at)s. If it was not you who set "
            "it up, write to support.",
            at=moment(asked.possible_at, visit.language).striptags(),
        )
        visit.form.refuse("", told)
    elif asked.verdict is Requested.OWED:
        visit.form.refuse("", visit.gettext("There is nothing to withdraw: cash that was paid out is owed."))
    else:
        available = usd(quota_of_micros(asked.available))
        visit.form.refuse("amount", visit.gettext("%(available)s can be withdrawn now, not more.", available=available))


def _line(reward: RewardRecord) -> RewardLine:
    if reward.kind is RewardKind.REFERRAL_CASH:
        amounts = (quota_of_micros(MicroUsd(micros)) for micros in (reward.amount, reward.full_amount))
        return RewardLine(reward, *amounts)
    return RewardLine(reward, Quota(reward.amount), Quota(reward.full_amount))


PAGES = (get("/partner", show), post("/partner", withdraw, once=True))
