"""Lots over time: `lot list`, `lot extend`, and `statement`."""

import csv
import sys
from datetime import datetime
from functools import partial
from typing import Annotated, Any

import typer

from tollkeeper.accounts.money.lots import LotRefused
from tollkeeper.accounts.money.lots import extend_lot as extend_lot_of
from tollkeeper.accounts.money.statement import MonthStatement, NotAMonth, month_statement
from tollkeeper.app import office
from tollkeeper.cli.abuse_words import moment
from tollkeeper.cli.codes import reason_in
from tollkeeper.cli.command import command
from tollkeeper.cli.customers import MOST_ID, AccountId, Reason
from tollkeeper.cli.listing import AsJson, fields_of, quota_fields, show_json, show_list, show_table
from tollkeeper.cli.prices import moment_in
from tollkeeper.cli.speak import say, settings_or_complain
from tollkeeper.core.money.amounts import Quota, quota_text, usd_exact
from tollkeeper.ports.customers.lots import LotRecord

lot_app = typer.Typer(help="Quota lots.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.add_typer(lot_app, name="lot")
    app.command()(statement)


@lot_app.command("list")
@command()
async def list_lots(account: AccountId, as_json: AsJson = False) -> None:
    """An account's lots, in the order in which they are spent; closed ones last."""
    async with office(settings_or_complain()) as desk:
        lots, now = list(await desk.lots.of_account(account)), await desk.prices.now()
    show_list(
        lots,
        head=("lot", "from", "since", "USD", "left", "expires", "now"),
        line=partial(_line, now=now),
        record=partial(_record, now=now),
        as_json=as_json,
        none=f"Account {account} has no lots.",
    )


@lot_app.command("extend")
@command(LotRefused)
async def extend(
    lot: Annotated[int, typer.Argument(metavar="LOT", max=MOST_ID, help="The lot's number.")],
    until: Annotated[str, typer.Option(metavar="TIME", help="Until when, UTC: 2026-12-31 or 2026-12-31T18:00.")],
    reason: Reason,
) -> None:
    """Let a lot expire later. One that expired less than a day ago comes back."""
    why, when = reason_in(reason), moment_in(until)
    async with office(settings_or_complain()) as desk:
        await extend_lot_of(lot, when, why, desk.lots, actor=desk.actor)
    say(f"lot {lot} expires {moment(when)}")


@command(NotAMonth)
async def statement(
    account: AccountId,
    month: Annotated[str, typer.Argument(metavar="MONTH", help="A calendar month, UTC: for example 2026-10.")],
    as_csv: Annotated[bool, typer.Option("--csv", help="As CSV, for a spreadsheet.")] = False,
    as_json: AsJson = False,
) -> None:
    """What came to an account and what went in a month, by what it was for."""
    async with office(settings_or_complain()) as desk:
        found = await month_statement(account, month, desk.statements)
    if as_json:
        show_json(_statement_record(found))
        return
    head = ("what", "detail", "times", "USD", "quota tokens")
    lines = [
        ("opening balance", f"{found.since:%Y-%m-%d}", "", *_both(found.opening)),
        *((line.item.value, line.detail, str(line.count), *_both(line.amount)) for line in found.lines),
        ("closing balance", f"{found.until:%Y-%m-%d}", "", *_both(found.closing)),
    ]
    if as_csv:
        csv.writer(sys.stdout).writerows([head, *lines])
        return
    show_table(head, lines)


def _both(amount: int) -> tuple[str, str]:
    return usd_exact(Quota(amount)), quota_text(amount)


def _statement_record(found: MonthStatement) -> dict[str, Any]:
    lines = [
        {"what": line.item.value, "detail": line.detail, "times": line.count} | quota_fields(amount=line.amount)
        for line in found.lines
    ]
    ends = quota_fields(opening=found.opening, closing=found.closing)
    return fields_of(found, "account_id", "since", "until") | ends | {"data": lines}


def _line(lot: LotRecord, now: datetime) -> tuple[str, ...]:
    amounts = (usd_exact(lot.granted), usd_exact(lot.remaining))
    source = lot.source if lot.key_id is None else f"{lot.source}, for key {lot.key_id}"
    return (str(lot.id), source, moment(lot.created_at), *amounts, moment(lot.expires_at), _standing(lot, now))


def _record(lot: LotRecord, now: datetime) -> dict[str, Any]:
    amounts = quota_fields(granted=lot.granted, remaining=lot.remaining)
    times = fields_of(lot, "created_at", "expires_at", "closed_at", "closed_as")
    return fields_of(lot, "id", "account_id", "key_id", "source") | amounts | times | {"expired": lot.expires_at <= now}


def _standing(lot: LotRecord, now: datetime) -> str:
    if lot.closed_at is not None:
        return f"{lot.closed_as} {moment(lot.closed_at)}"
    if lot.expires_at <= now:
        return "expired, can be extended until it is closed"
    return "open" if lot.remaining else "used up"
