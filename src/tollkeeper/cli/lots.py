"""Lots over time: `lot list`, `lot extend`, and `statement`."""

import csv
import sys
from datetime import datetime
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from tollkeeper.accounts.lots import LotRefused
from tollkeeper.accounts.lots import extend_lot as extend_lot_of
from tollkeeper.accounts.statement import NotAMonth, month_statement
from tollkeeper.app import office
from tollkeeper.cli.abuse_words import moment
from tollkeeper.cli.codes import reason_in
from tollkeeper.cli.command import command
from tollkeeper.cli.customers import MOST_ID, AccountId
from tollkeeper.cli.prices import moment_in
from tollkeeper.cli.speak import say, settings_or_complain, show
from tollkeeper.core.money import quota_text, usd_exact
from tollkeeper.ports.lots import LotRecord

lot_app = typer.Typer(help="Quota lots.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.add_typer(lot_app, name="lot")
    app.command()(statement)


@lot_app.command("list")
@command()
async def list_lots(account: AccountId) -> None:
    """An account's lots, in the order in which they are spent; closed ones last."""
    async with office(settings_or_complain()) as desk:
        lots, now = list(await desk.lots.of_account(account)), await desk.prices.now()
    if not lots:
        say(f"Account {account} has no lots.")
        return
    table = Table("lot", "from", "since", "USD", "left", "expires", "now")
    for lot in lots:
        amounts = (usd_exact(lot.granted), usd_exact(lot.remaining))
        source = lot.source if lot.key_id is None else f"{lot.source}, for key {lot.key_id}"
        cells = (str(lot.id), source, moment(lot.created_at), *amounts, moment(lot.expires_at), _standing(lot, now))
        table.add_row(*map(Text, cells))
    show(table)


@lot_app.command("extend")
@command(LotRefused)
async def extend(
    lot: Annotated[int, typer.Argument(metavar="LOT", max=MOST_ID, help="The lot's number.")],
    until: Annotated[str, typer.Option(metavar="TIME", help="Until when, UTC: 2026-12-31 or 2026-12-31T18:00.")],
    reason: Annotated[str, typer.Option(help="Why; it stays on the record.")],
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
) -> None:
    """What came to an account and what went in a month, by what it was for. Amounts are quota tokens."""
    async with office(settings_or_complain()) as desk:
        found = await month_statement(account, month, desk.statements)
    head = ("what", "detail", "times", "amount")
    lines = [
        ("opening balance", f"{found.since:%Y-%m-%d}", "", quota_text(found.opening)),
        *((line.item.value, line.detail, str(line.count), quota_text(line.amount)) for line in found.lines),
        ("closing balance", f"{found.until:%Y-%m-%d}", "", quota_text(found.closing)),
    ]
    if as_csv:
        csv.writer(sys.stdout).writerows([head, *lines])
        return
    table = Table(*head)
    for line in lines:
        table.add_row(*map(Text, line))
    show(table)


def _standing(lot: LotRecord, now: datetime) -> str:
    if lot.closed_at is not None:
        return f"{lot.closed_as} {moment(lot.closed_at)}"
    if lot.expires_at <= now:
        return "expired, can be extended until it is closed"
    return "open" if lot.remaining else "used up"
