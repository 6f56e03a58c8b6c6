"""The books: `books check`."""

import asyncio

import typer

from tollkeeper.app import opened
from tollkeeper.cli.speak import complain, say, settings_or_complain
from tollkeeper.storage.books import Verdict, check_books
from tollkeeper.storage.database import Part

books_app = typer.Typer(help="The books.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.add_typer(books_app, name="books")


@books_app.callback()
def books() -> None:
    """The books: are they in order?"""


@books_app.command("check")
def check() -> None:
    """Check every invariant. Exit code 1 where one is broken."""

    async def work() -> list[Verdict]:
        async with opened(settings_or_complain(), Part.WORKER) as database:
            return await check_books(database)

    verdicts = asyncio.run(work())
    for verdict in verdicts:
        if verdict.findings:
            complain(f"broken  {verdict.invariant}")
            for finding in verdict.findings:
                complain(f"        {finding}")
        else:
            say(f"holds   {verdict.invariant}")
    if any(verdict.findings for verdict in verdicts):
        complain("The books are NOT clean.")
        raise typer.Exit(1)
    say("The books are clean.")
