"""What an account has, as its owner sees it on every page."""

from typing import Protocol

import msgspec

from tollkeeper.core.money.amounts import Quota


class Wallet(msgspec.Struct, frozen=True, kw_only=True):
    """All of one moment."""

    account_id: int
    name: str
    email: str
    # Whose prices and limits it has.
    group: str
    # Of all lots that can be drawn from, less what is owed; never below nothing.
    balance: Quota
    # By calls under way.
    held: Quota
    debt: Quota
    # Of the seven days before this one, as they were added up.
    week_charged: int
    # For how long it lasts at the pace of those days (`core/money/runway`); None where nothing was spent.
    days_left: int | None


class Wallets(Protocol):
    async def of(self, account_id: int) -> Wallet:
        """Raise NotOnFile."""
        ...
