"""Quota coming in, and the ends of lots."""

from datetime import datetime, timedelta
from typing import Protocol

import msgspec

from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.one_line import one_line


class Credit(msgspec.Struct, frozen=True, kw_only=True):
    """Quota coming in. The same source id is credited once, however often it is sent."""

    account_id: int
    amount: Quota
    source: str
    source_id: str
    months: int = 0
    days: int = 0
    key_id: int | None = None

    def __post_init__(self) -> None:
        one_line(self.source_id, "The id of a credit")


class Credited(msgspec.Struct, frozen=True, kw_only=True):
    lot_id: int
    expires_at: datetime
    replayed: bool


class Revoked(msgspec.Struct, frozen=True):
    """What a revocation took back from a lot, and what is now owed because it was spent."""

    revoked: Quota
    owed: Quota


class Treasury(Protocol):
    """Quota coming in, and the ends of lots."""

    async def credit(self, credit: Credit) -> Credited: ...
    async def close_lots(self, grace: timedelta) -> int:
        """Close what expired more than `grace` ago; how many lots that were."""
        ...

    async def turn_partitions(self, keep_holds: timedelta) -> None:
        """Prepare the ledger's tables for the days ahead, and drop closed holds that are older than `keep_holds`."""
        ...

    async def revoke(self, lot_id: int, reason: str = "") -> Revoked:
        """Take a lot back; nothing where it is closed already. The reason is put on the record."""
        ...
