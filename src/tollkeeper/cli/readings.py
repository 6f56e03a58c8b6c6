"""Readings of staff: `reading list`, `end`."""

from typing import Annotated

import typer

from tollkeeper.cli.abuse_words import moment
from tollkeeper.cli.acting import perform
from tollkeeper.cli.command import command
from tollkeeper.cli.customers import MOST_ID, Reason
from tollkeeper.cli.listing import AsJson, fields_of, show_list
from tollkeeper.cli.pages import LISTED_MOST, every_page
from tollkeeper.cli.speak import say
from tollkeeper.office.readings import EndReadingWish, ReadingsWish, end_reading_as, list_readings
from tollkeeper.ports.readings import ReadingRecord

reading_app = typer.Typer(help="Staff who read the console as a customer.", no_args_is_help=True)
FIELDS = ("reading", "reader", "account", "reason", "began_at", "until", "ended_at")


def register(app: typer.Typer) -> None:
    app.add_typer(reading_app, name="reading")


@reading_app.command("list")
@command()
async def list_all(
    account: Annotated[int | None, typer.Option(min=1, max=MOST_ID, help="Of one customer. Without: of all.")] = None,
    as_json: AsJson = False,
) -> None:
    """Who of staff read the console as which customer, when and why: the newest first."""
    show_list(
        await every_page(list_readings, ReadingsWish(account=account), LISTED_MOST),
        head=("reading", "by account", "as account", "from", "until", "why"),
        line=lambda each: (
            str(each.reading),
            str(each.reader),
            str(each.account),
            moment(each.began_at),
            _until(each),
            each.reason,
        ),
        record=lambda each: fields_of(each, *FIELDS),
        as_json=as_json,
        none="Nobody read as a customer.",
    )


@reading_app.command("end")
@command(ValueError)
async def end(
    reading: Annotated[int, typer.Argument(metavar="READING", min=1, max=MOST_ID, help="Its number.")],
    reason: Reason,
) -> None:
    """End a reading at once, whoever began it. (It is begun in the console, on the customer's page.)"""
    done = await perform(end_reading_as, EndReadingWish(reading=reading, reason=reason))
    say(f"reading {reading} is ended" + ("" if done.changed else ", as it was before"))


def _until(each: ReadingRecord) -> str:
    return f"at the latest {moment(each.until)}" if each.ended_at is None else moment(each.ended_at)
