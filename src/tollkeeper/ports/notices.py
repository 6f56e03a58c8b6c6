"""Notices to customers."""

from typing import Protocol

import msgspec

from tollkeeper.core.money import Quota


class Step(msgspec.Struct, frozen=True):
    """How many mails a piece of work put into the outbox, and whether there is more to do."""

    told: int
    more: bool


class Notices(Protocol):
    async def expiring(self, days: int) -> Step:
        """Of lots that expire within so many days."""
        ...

    async def low_balances(self, threshold: Quota, *, late: bool) -> Step:
        """To accounts that called and have less than this; `late`: once more, for calls that took long."""
        ...


class Announcements(Protocol):
    async def step(self) -> int | None:
        """One piece of the work: how many mails it put into the outbox; none where nothing is left to do."""
        ...
