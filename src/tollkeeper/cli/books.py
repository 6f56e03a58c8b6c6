"""The books: `books check`, `books statement`."""

import csv
import sys
from typing import Annotated

import typer
from rich.table import Table

from tollkeeper.app import opened
from tollkeeper.cli.command import command
from tollkeeper.cli.speak import Mistake, complain, say, settings_or_complain, show
from tollkeeper.core.money import quota_text
from tollkeeper.storage.books import Verdict, audit_contains, audit_head, check_books
from tollkeeper.storage.database import Part
from tollkeeper.storage.statement import statement

books_app = typer.Typer(help="The books.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.add_typer(books_app, name="books")


@books_app.command("check")
@command()
async def check(
    since: Annotated[
        str | None,
        typer.Option("--audit-head", help="An audit head noted earlier: complain if the trail no longer has it."),
    ] = None,
) -> None:
    """Check every invariant. Exit code 1 where one is broken."""
    async with opened(settings_or_complain(), Part.WORKER) as database:
        verdicts = await check_books(database)
        if since is not None:
            findings = [] if await audit_contains(database, since) else [f"{since} is not in it any more"]
            verdicts.append(Verdict("the audit trail goes on from where it was", findings))
        head = await audit_head(database)
    for verdict in verdicts:
        if verdict.findings:
            complain(f"broken  {verdict.invariant}")
            for finding in verdict.findings:
                complain(f"        {finding}")
        else:
            say(f"holds   {verdict.invariant}")
    if any(verdict.findings for verdict in verdicts):
        raise Mistake("The books are NOT clean.")
    say(f"audit head {head} (keep it elsewhere; check it later with --audit-head)")
    say("The books are clean.")


@books_app.command("statement")
@command()
async def show_statement(
    account: Annotated[int, typer.Argument(metavar="ACCOUNT", help="The account's number.")],
    as_csv: Annotated[bool, typer.Option("--csv", help="As CSV, for a spreadsheet.")] = False,
) -> None:
    """Every movement of an account's quota, with the balance after it. Amounts are quota tokens."""
    async with opened(settings_or_complain(), Part.WORKER) as database:
        movements = await statement(database, account)
    head = ("time", "what", "detail", "amount", "balance")
    lines = [
        (
            movement.at.isoformat(timespec="seconds"),
            movement.what,
            movement.detail,
            quota_text(movement.amount),
            quota_text(movement.balance),
        )
        for movement in movements
    ]
    if as_csv:
        csv.writer(sys.stdout).writerows([head, *lines])
        return
    table = Table(*head)
    for line in lines:
        table.add_row(*line)
    show(table)
