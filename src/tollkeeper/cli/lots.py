"""Lots over time: `lot list`, `lot extend`, `lot revoke`, and `statement`."""

import csv
import sys
from typing import Annotated, Any
from uuid import uuid4

import typer

from tollkeeper.cli.abuse_words import moment
from tollkeeper.cli.account_words import amount_fields
from tollkeeper.cli.acting import perform
from tollkeeper.cli.codes import reason_in
from tollkeeper.cli.command import command
from tollkeeper.cli.customers import MOST_ID, AccountId, Reason
from tollkeeper.cli.listing import AsJson, fields_of, show_json, show_list, show_table
from tollkeeper.cli.pages import every_page
from tollkeeper.cli.prices import moment_in
from tollkeeper.cli.speak import say
from tollkeeper.core.money.amounts import quota_text
from tollkeeper.office.amounts import Amount
from tollkeeper.office.lots import (
    ExtendLotWish,
    LotsWish,
    LotView,
    RevokeLotWish,
    StatementView,
    StatementWish,
    extend_lot,
    revoke_lot,
    show_statement,
)
from tollkeeper.office.lots import list_lots as list_lots_of

LotId = Annotated[int, typer.Argument(metavar="LOT", max=MOST_ID, help="The lot's number.")]

lot_app = typer.Typer(help="Quota lots.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.add_typer(lot_app, name="lot")
    app.command()(statement)


@lot_app.command("list")
@command()
async def list_lots(account: AccountId, as_json: AsJson = False) -> None:
    """An account's lots, in the order in which they are spent; closed ones last."""
    show_list(
        await every_page(list_lots_of, LotsWish(account=account)),
        head=("lot", "from", "since", "USD", "left", "expires", "now"),
        line=_line,
        record=_record,
        as_json=as_json,
        none=f"Account {account} has no lots.",
    )


@lot_app.command("extend")
@command(ValueError)
async def extend(
    lot: LotId,
    until: Annotated[str, typer.Option(metavar="TIME", help="Until when, UTC: 2026-12-31 or 2026-12-31T18:00.")],
    reason: Reason,
) -> None:
    """Let a lot expire later. One that expired less than a day ago comes back."""
    why, when = reason_in(reason), moment_in(until)
    done = await perform(extend_lot, ExtendLotWish(once=str(uuid4()), lot=lot, until=when, reason=why))
    say(f"lot {lot} expires {moment(done.expires_at)}")


@lot_app.command("revoke")
@command(ValueError)
async def revoke(lot: LotId, reason: Reason) -> None:
    """Take a lot back: what is left of it is gone, what was spent of it is owed. For a redeemed code: `top-up revoke`,
    which takes its rewards back, too."""
    done = await perform(revoke_lot, RevokeLotWish(once=str(uuid4()), lot=lot, reason=reason))
    before = " before: nothing was done now" if done.was_before else ""
    say(f"lot {lot} was taken back{before}; {done.taken_back.usd} USD are gone, {done.owed.usd} USD are owed")


@command(ValueError)
async def statement(
    account: AccountId,
    month: Annotated[str, typer.Argument(metavar="MONTH", help="A calendar month, UTC: for example 2026-10.")],
    as_csv: Annotated[bool, typer.Option("--csv", help="As CSV, for a spreadsheet.")] = False,
    as_json: AsJson = False,
) -> None:
    """What came to an account and what went in a month, by what it was for."""
    found = await perform(show_statement, StatementWish(account=account, month=month))
    if as_json:
        show_json(_statement_record(found))
        return
    head = ("what", "detail", "times", "USD", "quota tokens")
    lines = [
        ("opening balance", f"{found.since:%Y-%m-%d}", "", *_both(found.opening)),
        *((row.what.value, row.detail, str(row.times), *_both(row.amount)) for row in found.rows),
        ("closing balance", f"{found.until:%Y-%m-%d}", "", *_both(found.closing)),
    ]
    if as_csv:
        csv.writer(sys.stdout).writerows([head, *lines])
        return
    show_table(head, lines)


def _both(amount: Amount) -> tuple[str, str]:
    return amount.usd, quota_text(amount.micro_quota)


def _statement_record(found: StatementView) -> dict[str, Any]:
    rows = [
        {"what": row.what.value} | fields_of(row, "detail", "times") | amount_fields(amount=row.amount)
        for row in found.rows
    ]
    ends = amount_fields(opening=found.opening, closing=found.closing)
    return {"account_id": found.account} | fields_of(found, "since", "until") | ends | {"data": rows}


def _line(lot: LotView) -> tuple[str, ...]:
    amounts = (lot.granted.usd, lot.remaining.usd)
    source = lot.source if lot.key is None else f"{lot.source}, for key {lot.key}"
    return (str(lot.lot), source, moment(lot.created_at), *amounts, moment(lot.expires_at), _standing(lot))


def _record(lot: LotView) -> dict[str, Any]:
    numbers = {"id": lot.lot, "account_id": lot.account, "key_id": lot.key, "source": lot.source}
    amounts = amount_fields(granted=lot.granted, remaining=lot.remaining)
    times = fields_of(lot, "created_at", "expires_at", "closed_at", "closed_as")
    return numbers | amounts | times | {"expired": lot.is_expired}


def _standing(lot: LotView) -> str:
    if lot.closed_at is not None:
        return f"{lot.closed_as} {moment(lot.closed_at)}"
    if lot.is_expired:
        return "expired, can be extended until it is closed"
    return "open" if lot.remaining.micro_quota else "used up"
