"""The books: `books check`, `verdict`, `reopen`, `statement`."""

import csv
import getpass
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

import typer

from tollkeeper.app.books import books_desk
from tollkeeper.cli.acting import perform
from tollkeeper.cli.command import command
from tollkeeper.cli.customers import Reason
from tollkeeper.cli.exit_codes import ExitCode
from tollkeeper.cli.listing import AsJson, fields_of, quota_fields, show_json, show_table
from tollkeeper.cli.progress import progress
from tollkeeper.cli.speak import Mistake, complain, say, settings_or_complain
from tollkeeper.core.money.amounts import Quota, quota_text, usd_exact
from tollkeeper.office.house import show_books_verdict
from tollkeeper.office.wishes import NoWish
from tollkeeper.ports.books import InvariantVerdict, Movement

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
    everything: Annotated[
        bool, typer.Option("--all", help="Every row of every day, also of days that are sealed.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check every invariant. Exit code 1 where one is broken. Closed days that were clean are sealed: checked once."""
    async with books_desk(settings_or_complain(), actor=_actor()) as books:
        with progress("checking the books"):
            review = await books.review(everything=everything)
        verdicts = list(review.verdicts)
        if since is not None:
            verdicts.append(await books.trail_from(since))
        head = await books.audit_head()
    clean = not any(verdict.findings for verdict in verdicts)
    if as_json:
        seals = {"sealed_through": review.sealed_through, "seal_head": review.head}
        show_json({"clean": clean, "audit_head": head, **seals, "data": list(map(_verdict_record, verdicts))})
        raise typer.Exit(ExitCode.DONE if clean else ExitCode.REFUSED)
    _show(verdicts)
    if not clean:
        raise Mistake("The books are NOT clean.")
    say(f"{review.days_kept} days were as sealed, {review.days_sealed} were sealed now.")
    say(f"audit head {head} (keep it elsewhere; check it later with --audit-head)")
    say("The books are clean.")


@books_app.command("verdict")
@command()
async def verdict(as_json: AsJson = False) -> None:
    """What the last nightly check found, and when that was. Exit code 1: the books were not clean."""
    found = await perform(show_books_verdict, NoWish())
    if as_json:
        show_json(fields_of(found, "is_clean", "checked_at", "last_run_at", "last_run", "due_at"))
    elif found.checked_at is None:
        say("The books were not checked by a worker yet. Start one: tollkeeper work")
    else:
        told = "clean" if found.is_clean else "NOT clean"
        say(f"The books were {told} at {found.checked_at:%Y-%m-%d %H:%M:%S} UTC. Last run: {found.last_run or 'none'}")
    raise typer.Exit(ExitCode.REFUSED if found.is_clean is False else ExitCode.DONE)


@books_app.command("reopen")
@command()
async def reopen_days(
    since: Annotated[
        datetime, typer.Argument(metavar="DAY", formats=["%Y-%m-%d"], help="The first day: 2026-11-03 (UTC).")
    ],
    reason: Reason,
) -> None:
    """Take the seals from a day on away, after rows of it were changed for a good reason. The next check seals anew."""
    async with books_desk(settings_or_complain(), actor=_actor()) as books:
        days = await books.reopen(since.date(), reason)
    if not days:
        raise Mistake(f"No day from {since:%Y-%m-%d} on is sealed. Nothing was changed.")
    say(f"{days} days are open again. Check every row of them now: tollkeeper books check")


def _actor() -> str:
    return f"cli:{getpass.getuser()}"


def _show(verdicts: Sequence[InvariantVerdict]) -> None:
    for verdict in verdicts:
        if verdict.findings:
            complain(f"broken  {verdict.invariant}")
            for finding in verdict.findings:
                complain(f"        {finding}")
        else:
            say(f"ok      {verdict.invariant}")


@books_app.command("statement")
@command()
async def show_statement(
    account: Annotated[int, typer.Argument(metavar="ACCOUNT", help="The account's number.")],
    as_csv: Annotated[bool, typer.Option("--csv", help="As CSV, for a spreadsheet.")] = False,
    as_json: AsJson = False,
) -> None:
    """Every movement of an account's quota, with the balance after it."""
    async with books_desk(settings_or_complain(), actor=_actor()) as books:
        movements = await books.statement(account)
    if as_json:
        show_json({"account_id": account, "data": list(map(_movement_record, movements))})
        return
    head = ("time", "what", "detail", "USD", "balance USD", "quota tokens")
    lines = [
        (
            movement.at.isoformat(timespec="seconds"),
            movement.what,
            movement.detail,
            usd_exact(Quota(movement.amount)),
            usd_exact(Quota(movement.balance)),
            quota_text(movement.amount),
        )
        for movement in movements
    ]
    if as_csv:
        csv.writer(sys.stdout).writerows([head, *lines])
        return
    show_table(head, lines)


def _movement_record(movement: Movement) -> dict[str, Any]:
    amounts = quota_fields(amount=movement.amount, balance=movement.balance)
    return fields_of(movement, "at", "what", "detail") | amounts


def _verdict_record(verdict: InvariantVerdict) -> dict[str, Any]:
    return {"invariant": verdict.invariant, "ok": not verdict.findings, "findings": verdict.findings}
