"""Notices to customers."""

from typing import Protocol

import msgspec

from tollkeeper.core.money.amounts import Quota


class NoticeStep(msgspec.Struct, frozen=True):
    """How many mails a piece of work put into the outbox, and whether there is more to do."""

    mailed: int
    more: bool


class NoticeChoices(msgspec.Struct, frozen=True, kw_only=True):
    """What a customer wants to be told. As it is here, where nothing was chosen."""

    low_balance: bool = True
    # None: what the service goes by.
    low_balance_below: Quota | None = None
    lot_expiring: bool = True
    price_change: bool = True
    new_sign_in: bool = True
    # None: nothing is said.
    day_spend_above: Quota | None = None


class NoticeDesk(Protocol):
    async def of(self, account_id: int) -> NoticeChoices: ...
    async def choose(self, account_id: int, choices: NoticeChoices, *, actor: str) -> None: ...


class Notices(Protocol):
    async def expiring(self, days: int) -> NoticeStep:
        """Write notices of lots that expire within so many days."""
        ...

    async def low_balances(self, threshold: Quota, *, late: bool) -> NoticeStep:
        """To accounts that called and have less than this; `late`: once more, for calls that took long."""
        ...

    async def day_spends(self) -> int:
        """To accounts that spent more in a day than they wanted to hear of; how many mails."""
        ...


class Announcements(Protocol):
    async def step(self) -> int | None:
        """One piece of the work: how many mails it put into the outbox; none where nothing is left to do."""
        ...
