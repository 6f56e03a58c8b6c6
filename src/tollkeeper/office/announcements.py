"""Announcements: what the console tells everybody, in both of its languages, for a time."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

import msgspec

from tollkeeper.accounts.announcements import announce
from tollkeeper.core.people.logins import Actor
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.act import act
from tollkeeper.office.desks import Office
from tollkeeper.office.instants import Instant, in_reach
from tollkeeper.office.lists import Listed, Paging, listed
from tollkeeper.office.wishes import ROW_MOST, Changed, ReasonText
from tollkeeper.ports.announcements import AnnouncementRecord, NewAnnouncement

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# How long it may be, and that it is one line, is said with the same words to every caller (accounts/announcements).
AnnouncedText = Annotated[str, msgspec.Meta(description="One line of plain text, of up to 500 characters.")]


class NewAnnouncementWish(msgspec.Struct, frozen=True, kw_only=True):
    english: AnnouncedText
    chinese: AnnouncedText
    ends_at: Instant
    # None: from now on.
    starts_at: Instant | None = None
    reason: ReasonText = ""


class AnnouncementNumber(msgspec.Struct, frozen=True, kw_only=True):
    announcement: Annotated[int, msgspec.Meta(ge=1, le=ROW_MOST, description="The announcement's number.")]
    reason: ReasonText


class AnnouncementsWish(Paging, frozen=True, kw_only=True):
    over: Annotated[bool, msgspec.Meta(description="Those that are over or were ended, the newest first.")] = False


@act("GET", "/announcements", Scope.READ)
async def list_announcements(office: Office, wish: AnnouncementsWish, by: Actor) -> Listed[AnnouncementRecord]:
    """What is shown now, and what will be: the soonest first. Or what was: the newest first."""
    if wish.over:
        rows = await office.announcements.over(before_id=wish.after_row(), limit=wish.limit + 1)
        return listed(rows, wish.limit, lambda row: row.id)
    after = wish.after_key(tuple[int, int]) or (0, 0)
    found = [each for each in await office.announcements.listed() if _place(each) > after]
    return listed(found[: wish.limit + 1], wish.limit, _place)


@act("POST", "/announcements", Scope.CATALOG)
async def add_announcement(office: Office, wish: NewAnnouncementWish, by: Actor) -> AnnouncementRecord:
    """Show a text on the console's home page and where people sign in."""
    wanted = NewAnnouncement(
        english=wish.english,
        chinese=wish.chinese,
        starts_at=None if wish.starts_at is None else in_reach(wish.starts_at),
        ends_at=in_reach(wish.ends_at),
    )
    return await announce(wanted, office.announcements, actor=by.name)


@act("POST", "/announcements/{announcement}/end", Scope.CATALOG)
async def end_announcement(office: Office, wish: AnnouncementNumber, by: Actor) -> Changed:
    """Show an announcement no longer."""
    return Changed(await office.announcements.remove(wish.announcement, actor=by.name))


def _place(record: AnnouncementRecord) -> tuple[int, int]:
    return (record.starts_at - EPOCH) // timedelta(microseconds=1), record.id


ACTS = (list_announcements, add_announcement, end_announcement)
