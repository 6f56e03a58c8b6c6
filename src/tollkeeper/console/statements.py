"""Statements: a month's opening balance, what came and went, and what was left, to the last unit.

Rules of this file
1. Amounts are exact, so that anybody can add them up.
2. What was spent is a link to its calls, as long as the log has them; what came in, to the credits of the month.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta

import msgspec
from babel.dates import format_date
from starlette.responses import Response

from tollkeeper.accounts.money.statement import MonthStatement, NotAMonth, month_statement
from tollkeeper.console import figures
from tollkeeper.console.pages import get
from tollkeeper.console.usage.asked import Asked
from tollkeeper.console.visit import Visit
from tollkeeper.console.words import LOCALES, marked
from tollkeeper.core.money.amounts import Quota, usd_exact
from tollkeeper.core.usage.log import guarded
from tollkeeper.ports.customers.lots import Item, LotRecord, StatementLine

CSV_HEAD = ("month", "item", "detail", "count", "amount_usd")
ITEMS: Mapping[Item, str] = {
    Item.TOP_UP: marked("Top-ups"),
    Item.GIFT: marked("Gifts"),
    Item.FAUCET: marked("Faucet"),
    Item.CREDIT: marked("Other credits"),
    Item.SPENT: marked("Spent on calls"),
    Item.EXPIRED: marked("Lapsed"),
    Item.REVOKED: marked("Taken back"),
}
# What a lot is called, by where it came from.
LOT_NAMES: Mapping[str, str] = {
    "redemption": marked("Top-up of %(day)s"),
    "operator": marked("Top-up of %(day)s"),
    "gift": marked("Gift of %(day)s"),
    "faucet": marked("Faucet, %(day)s"),
    "dispute": marked("Charge that came back on %(day)s"),
}
OTHER_LOT = marked("Credit of %(day)s")
# Lines that have their rows on the same page.
CREDITED = frozenset({Item.TOP_UP, Item.GIFT, Item.FAUCET, Item.CREDIT})
CREDITS = "#credits"
# As the ledger names what calls cost whose rows are cleaned away.
NOT_IN_THE_LOG = "calls no longer in the log"


class LineShown(msgspec.Struct, frozen=True, kw_only=True):
    words: str
    detail: str
    count: int
    amount: int
    href: str


class CreditShown(msgspec.Struct, frozen=True, kw_only=True):
    """A lot of the month, as it was when it came in."""

    name: str
    lot: LotRecord


async def show(visit: Visit) -> Response:
    statement, now = await _asked_for(visit), visit.desks.now()
    lines = [_line(visit, statement, line) for line in statement.lines]
    lots = await visit.desks.lots.of_account(visit.account_id)
    is_now = statement.since <= now < statement.until
    return visit.page(
        "statements.html",
        statement=statement,
        month=f"{statement.since:%Y-%m}",
        title=_month_words(visit, statement.since.date()),
        came_in=[line for line in lines if line.amount > 0],
        went_out=[line for line in lines if line.amount <= 0],
        is_over=statement.until <= now,
        held=visit.wallet.held if is_now and visit.wallet else 0,
        lapsed=_lapsed(lots, now) if is_now else 0,
        credits=[_credit(visit, lot) for lot in lots if statement.since <= lot.created_at < statement.until],
        months=_months(visit, lots, statement.since.date()),
    )


async def export(visit: Visit) -> Response:
    statement = await _asked_for(visit)
    if not visit.form.is_good:
        return await show(visit)
    month = f"{statement.since:%Y-%m}"
    lines = (
        (month, line.item.value, guarded(line.detail), str(line.count), usd_signed(line.amount))
        for line in statement.lines
    )
    text = io.StringIO()
    csv.writer(text).writerows(
        (
            CSV_HEAD,
            (month, "opening balance", "", "", usd_signed(statement.opening)),
            *lines,
            (month, "closing balance", "", "", usd_signed(statement.closing)),
        )
    )
    disposition = {"Content-Disposition": f'attachment; filename="statement-{month}.csv"'}
    return Response(text.getvalue(), media_type="text/csv; charset=utf-8", headers=disposition)


def usd_signed(amount: int) -> str:
    """`-1.5000003`, without the sign of the dollar: for spreadsheets."""
    return usd_exact(Quota(amount))


async def _asked_for(visit: Visit) -> MonthStatement:
    this_month = f"{visit.desks.now():%Y-%m}"
    month = visit.query.get("month", "") or this_month
    try:
        return await month_statement(visit.account_id, month, visit.desks.statements)
    except NotAMonth:
        visit.form.refuse("month", visit.gettext("Write a month like 2026-10. Here is this one."))
        return await month_statement(visit.account_id, this_month, visit.desks.statements)


def _line(visit: Visit, statement: MonthStatement, line: StatementLine) -> LineShown:
    in_log = line.item is Item.SPENT and line.detail != NOT_IN_THE_LOG
    first, last = statement.since.date(), (statement.until - timedelta(days=1)).date()
    detail = visit.gettext("no longer in the log") if line.detail == NOT_IN_THE_LOG else line.detail
    return LineShown(
        words=ITEMS[line.item],
        detail=detail,
        count=line.count,
        amount=line.amount,
        href=Asked(first=first, last=last, model=line.detail).link() if in_log else _same_page(line),
    )


def _same_page(line: StatementLine) -> str:
    return CREDITS if line.item in CREDITED else ""


def credits_of(at: datetime) -> str:
    """The credits of that month."""
    return f"/statements?month={at:%Y-%m}{CREDITS}"


def _credit(visit: Visit, lot: LotRecord) -> CreditShown:
    day = figures.day(lot.created_at, visit.language)
    return CreditShown(name=visit.gettext(LOT_NAMES.get(lot.source, OTHER_LOT), day=day), lot=lot)


def _lapsed(lots: Sequence[LotRecord], now: datetime) -> int:
    """What cannot be spent any more, but has a day of grace before it is booked."""
    return sum(lot.remaining for lot in lots if lot.closed_at is None and lot.expires_at <= now)


def _months(visit: Visit, lots: Sequence[LotRecord], shown: date) -> Sequence[tuple[str, str]]:
    """From the account's first credit on, the newest first; and the one that is shown."""
    now = visit.desks.now()
    first = min((lot.created_at for lot in lots), default=now)
    found = {shown.replace(day=1)}
    month = _first_of(now)
    while month >= _first_of(first):
        found.add(month)
        month = (month - timedelta(days=1)).replace(day=1)
    return [(f"{each:%Y-%m}", _month_words(visit, each)) for each in sorted(found, reverse=True)]


def _first_of(moment: datetime) -> date:
    return moment.date().replace(day=1)


def _month_words(visit: Visit, month: date) -> str:
    form = "MMMM y" if visit.language == "en" else "y年M月"
    return str(format_date(month, form, locale=LOCALES[visit.language]))


PAGES = (get("/statements", show), get("/statements.csv", export))
