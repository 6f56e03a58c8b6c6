"""Withdrawals: cash that partners ask for, approved by one person and paid by another."""

import msgspec
from starlette.responses import Response

from tollkeeper.console.pages import staff_get
from tollkeeper.console.staff.acting import acted
from tollkeeper.console.staff.deeds import DeedField, DeedSubject, StaffDeed, pages_of
from tollkeeper.console.staff.list_links import has_scope, next_page
from tollkeeper.console.visit import Visit
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.lists import Listed
from tollkeeper.office.partner import (
    WithdrawalNumber,
    approve_cash,
    list_withdrawals,
    pay_cash,
    refuse_cash,
    show_withdrawal,
)
from tollkeeper.office.partner_views import WithdrawalView

ONE = "/staff/withdrawals/{withdrawal:int}"
BACK = "/staff/withdrawals/{withdrawal}"


async def show(visit: Visit) -> Response:
    every = visit.query.get("which") == "all"
    page = await acted(visit, list_withdrawals, waiting=not every) or Listed[WithdrawalView]([])
    asked = {"account": visit.query.get("account", "").strip()[:20], "which": "all" if every else ""}
    more = next_page(visit, "/staff/withdrawals", page)
    return visit.page("withdrawals.html", rows=page.data, asked=asked, more=more)


async def show_one(visit: Visit) -> Response:
    found = await _withdrawal(visit)
    return visit.page(
        "withdrawal.html",
        withdrawal=found,
        may_decide=has_scope(visit, Scope.MONEY),
        approved_here=found.approved_by_asker,
        is_own=found.account == visit.session.account_id,
    )


async def look_at_withdrawal(visit: Visit) -> DeedSubject:
    found = await _withdrawal(visit)
    facts = (
        ("Account", found.account),
        ("Amount", f"${found.amount.usd}"),
        ("Goes to", found.payee),
        ("State", found.state.value),
        ("Approved by", found.approved_by),
    )
    hindrance = f"It is {found.state.value} already, by {found.decided_by}." if found.decided_at else ""
    return DeedSubject(name=f"Withdrawal {found.id}", facts=facts, hindrance=hindrance)


async def look_to_pay(visit: Visit) -> DeedSubject:
    found, subject = await _withdrawal(visit), await look_at_withdrawal(visit)
    if found.decided_at or not found.approved_by_asker:
        return subject
    return msgspec.structs.replace(
        subject,
        hindrance="You approved it, or it was approved by a key that may be yours. Somebody else notes it as paid.",
    )


async def _withdrawal(visit: Visit) -> WithdrawalView:
    wish = WithdrawalNumber(withdrawal=visit.request.path_params["withdrawal"])
    return await show_withdrawal(visit.desks.office, wish, visit.by)


DECISIONS = (
    StaffDeed(
        path=f"{ONE}/approve",
        act=approve_cash,
        look=look_at_withdrawal,
        title="Approve a withdrawal",
        words="It may be paid then. Somebody else makes the transfer and notes it as paid: whoever approves does not.",
        button="Approve it",
        back=BACK,
        done="withdrawal-approved",
    ),
    StaffDeed(
        path=f"{ONE}/pay",
        act=pay_cash,
        look=look_to_pay,
        title="Note a withdrawal as paid",
        words="Make the transfer first. The cash is then gone from the account, and this cannot be undone.",
        button="It is paid",
        back=BACK,
        done="withdrawal-paid",
        fields=(DeedField(name="reason", label="The transfer's own number", hint="The customer reads it, too."),),
    ),
    StaffDeed(
        path=f"{ONE}/refuse",
        act=refuse_cash,
        look=look_at_withdrawal,
        title="Refuse a withdrawal",
        words="The cash stays with the account, and can be asked for again. The customer reads the reason.",
        button="Refuse it",
        back=BACK,
        done="withdrawal-refused",
        is_grave=True,
    ),
)
PAGES = (
    staff_get("/staff/withdrawals", show, Scope.READ),
    staff_get(ONE, show_one, Scope.READ),
    *pages_of(DECISIONS),
)
