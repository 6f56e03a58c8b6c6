"""Announcements: `announce add`, `list`, `remove`."""

from typing import Annotated

import typer

from tollkeeper.cli.abuse_words import moment
from tollkeeper.cli.acting import perform
from tollkeeper.cli.command import command
from tollkeeper.cli.customers import MOST_ID, MaybeReason, Reason
from tollkeeper.cli.listing import AsJson, fields_of, show_list
from tollkeeper.cli.pages import LISTED_MOST, every_page
from tollkeeper.cli.prices import moment_in
from tollkeeper.cli.speak import say
from tollkeeper.office.announcements import (
    AnnouncementNumber,
    AnnouncementsWish,
    NewAnnouncementWish,
    add_announcement,
    end_announcement,
)
from tollkeeper.office.announcements import list_announcements as list_act
from tollkeeper.ports.announcements import AnnouncementRecord

announce_app = typer.Typer(help="What the console tells everybody.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.add_typer(announce_app, name="announce")


@announce_app.command("add")
@command(ValueError)
async def add(
    english: Annotated[str, typer.Option(help="The text in English: one line, shown as it is.")],
    chinese: Annotated[str, typer.Option(help="The text in Chinese.")],
    until: Annotated[str, typer.Option(metavar="TIME", help="Until when, UTC: 2026-12-31 or 2026-12-31T18:00.")],
    start: Annotated[str | None, typer.Option("--from", metavar="TIME", help="From when, UTC; otherwise now.")] = None,
    reason: MaybeReason = "",
) -> None:
    """Show a text on the console's home page and where people sign in."""
    starts_at = None if start is None else moment_in(start)
    wish = NewAnnouncementWish(
        english=english, chinese=chinese, starts_at=starts_at, ends_at=moment_in(until), reason=reason
    )
    made = await perform(add_announcement, wish)
    say(f"announcement {made.id} is shown from {moment(made.starts_at)} until {moment(made.ends_at)}")


@announce_app.command("list")
@command()
async def list_announcements(
    over: Annotated[bool, typer.Option("--over", help="Those that are over or were ended, the newest first.")] = False,
    as_json: AsJson = False,
) -> None:
    """What is shown now, and what will be."""
    show_list(
        await every_page(list_act, AnnouncementsWish(over=over), LISTED_MOST),
        head=("announcement", "from", "until", "English", "Chinese"),
        line=lambda each: (str(each.id), moment(each.starts_at), _until(each), each.english, each.chinese),
        record=lambda each: fields_of(each, "id", "starts_at", "ends_at", "ended_at", "english", "chinese"),
        as_json=as_json,
        none="Nothing is announced.",
    )


@announce_app.command("remove")
@command(ValueError)
async def remove(
    announcement: Annotated[int, typer.Argument(metavar="ANNOUNCEMENT", max=MOST_ID, help="Its number.")],
    reason: Reason,
) -> None:
    """Show it no longer."""
    done = await perform(end_announcement, AnnouncementNumber(announcement=announcement, reason=reason))
    say(f"announcement {announcement} is not shown" + ("" if done.changed else ", as it was before"))


def _until(each: AnnouncementRecord) -> str:
    return moment(each.ends_at) if each.ended_at is None else f"ended {moment(each.ended_at)}"
