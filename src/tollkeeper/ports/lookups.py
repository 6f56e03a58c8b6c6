"""What calls look up: time, keys, models, balances, receipts."""

from datetime import datetime
from typing import Protocol
from uuid import UUID

import msgspec

from tollkeeper.core.catalog.models import Shelf
from tollkeeper.core.keys import KeyRecord
from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.balance import BalanceFigures
from tollkeeper.core.usage.receipt import Receipt


class Clock(Protocol):
    """The database's time, so that a node whose own clock is wrong does no harm."""

    def now(self) -> datetime:
        """Raise StoreUnavailable where it is not known yet."""
        ...

    def unix_milliseconds(self) -> int:
        """The same, by this machine's own clock until it is known: for ids, by which rows are filed."""
        ...


class Keys(Protocol):
    async def find(self, key: str) -> KeyRecord | None:
        """The record of a key, at most two seconds old. Raise StoreUnavailable rather than guess."""
        ...

    def remembered(self, key: str) -> KeyRecord | None:
        """The same, if nobody has to be asked for it."""
        ...


class AudioLengths(Protocol):
    async def milliseconds(self, content: bytes | bytearray, filename: str, *, owner: int) -> int:
        """How long a file of an account's is to be heard. Raise InvalidParameter where it is no audio of the kind that
        its name says, TooMuchToMeasure where too many wait."""
        ...


class Catalog(Protocol):
    async def shelf(self) -> Shelf:
        """Everything that is not retired."""
        ...


class Balances(Protocol):
    async def standing(self, key_id: int) -> BalanceFigures: ...


class RunningCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that has a hold and no receipt yet."""

    request_id: UUID
    account_id: int
    key_id: int
    held: Quota
    started_at: datetime


class Receipts(Protocol):
    async def find(self, request_id: UUID, *, account_id: int | None) -> Receipt | RunningCall | None:
        """A call by its id; with `account_id`, only if it is that account's."""
        ...
