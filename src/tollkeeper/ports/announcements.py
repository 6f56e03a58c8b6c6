"""Announcements: what an operator tells everybody who opens the console."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

import msgspec


class NewAnnouncement(msgspec.Struct, frozen=True, kw_only=True):
    """Plain text, in both languages of the console."""

    english: str
    chinese: str
    # None: from now on.
    starts_at: datetime | None
    ends_at: datetime


class AnnouncementRecord(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    english: str
    chinese: str
    starts_at: datetime
    ends_at: datetime
    # By staff, before its time was up.
    ended_at: datetime | None = None


class AnnouncementDesk(Protocol):
    async def current(self) -> Sequence[AnnouncementRecord]:
        """Announcements of this moment, the newest first; a few at most."""
        ...

    async def listed(self) -> Sequence[AnnouncementRecord]:
        """Announcements of now and of later, the soonest first."""
        ...

    async def over(self, *, before_id: int | None, limit: int) -> Sequence[AnnouncementRecord]:
        """Announcements whose time is up, or that were ended before that; the newest first."""
        ...

    async def add(self, wanted: NewAnnouncement, *, actor: str) -> AnnouncementRecord | None:
        """None where its end is over already, or before its beginning."""
        ...

    async def remove(self, announcement_id: int, *, actor: str) -> bool:
        """Whether it was there until now. Raise NotOnFile."""
        ...
