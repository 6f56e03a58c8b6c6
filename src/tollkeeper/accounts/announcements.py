"""Announcements: one line of plain text in each language, from when, and until when."""

import msgspec

from tollkeeper.core.one_line import one_line
from tollkeeper.ports.announcements import AnnouncementDesk, AnnouncementRecord, NewAnnouncement

TEXT_CHARACTERS_MOST = 500


class BadAnnouncement(ValueError):
    """What cannot be announced; the message says why."""


async def announce(wanted: NewAnnouncement, desk: AnnouncementDesk, *, actor: str) -> AnnouncementRecord:
    """Raise BadAnnouncement, or NotOneLine."""
    checked = msgspec.structs.replace(wanted, english=_text(wanted.english), chinese=_text(wanted.chinese))
    made = await desk.add(checked, actor=actor)
    if made is None:
        raise BadAnnouncement("The end is over already, or before the beginning. Choose a later one. Nothing was done.")
    return made


def _text(text: str) -> str:
    text = text.strip()
    if not 1 <= len(text) <= TEXT_CHARACTERS_MOST:
        raise BadAnnouncement(
            f"An announcement has 1 to {TEXT_CHARACTERS_MOST} characters in each language. Nothing was done."
        )
    return one_line(text, "An announcement")
