"""What the data plane and the control plane need of the outside, as protocols.

Adapters live in `storage` and `providers`; `app` puts them together.
"""

from collections.abc import Awaitable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Protocol
from uuid import UUID

import msgspec

from tollkeeper.core.balance import Standing
from tollkeeper.core.catalog import Kind, Model
from tollkeeper.core.charge import Charge, Ending
from tollkeeper.core.keys import KeyRecord
from tollkeeper.core.money import Quota
from tollkeeper.core.prices import Rate, Usage


class Clock(Protocol):
    """The database's time, so that a node whose own clock is wrong does no harm."""

    def now(self) -> datetime: ...


class Keys(Protocol):
    async def find(self, key: str) -> KeyRecord | None:
        """The record of a key, at most two seconds old. Raise StoreUnavailable rather than guess."""
        ...


class Catalog(Protocol):
    async def models(self) -> Sequence[Model]:
        """Every model that is not retired, by id."""
        ...


class Balances(Protocol):
    async def standing(self, key_id: int) -> Standing: ...


class HoldOrder(msgspec.Struct, frozen=True, kw_only=True):
    """Quota to reserve before a call is sent upstream."""

    request_id: UUID
    account_id: int
    key_id: int
    amount: Quota
    rate: Rate
    input_tokens: int
    seconds: int


class Extension(msgspec.Struct, frozen=True, kw_only=True):
    """More quota for a running call: its first, second, third … extension."""

    request_id: UUID
    sequence: int
    account_id: int
    key_id: int
    amount: Quota
    seconds: int


class Outcome(StrEnum):
    ADMITTED = "admitted"
    REPLAYED = "replayed"
    UNKNOWN_KEY = "unknown_key"
    UNKNOWN_HOLD = "unknown_hold"
    CLOSED = "closed"
    DEBT = "debt"
    ACCOUNT_SHORT = "account_short"
    KEY_SHORT = "key_short"
    BUDGET = "budget"


class Verdict(msgspec.Struct, frozen=True):
    """Whether quota was reserved. `available` is what there was of the quota that was short, or the debt."""

    outcome: Outcome
    available: Quota = Quota(0)

    @property
    def granted(self) -> bool:
        return self.outcome in {Outcome.ADMITTED, Outcome.REPLAYED}


class Settlement(msgspec.Struct, frozen=True, kw_only=True):
    """How a call ended and what it costs: its receipt, and the order to close its hold."""

    request_id: UUID
    account_id: int
    charge: Charge
    ending: Ending
    attempts: tuple[Mapping[str, object], ...] = ()


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a running call has come."""

    request_id: UUID
    usage: Usage
    seconds: int


class Ledger(Protocol):
    """Holds and settles, on the request path. Everything is idempotent by request id."""

    async def hold(self, order: HoldOrder) -> Verdict: ...
    async def extend(self, extension: Extension) -> Verdict: ...

    def note(self, settlement: Settlement) -> None:
        """Remember how to settle a running call, should this process die before it does."""
        ...

    def settle(self, settlement: Settlement) -> Awaitable[bool]:
        """Close a hold. Once this returns it will be done, awaited or not; the result says whether it was open."""
        ...

    async def checkpoint(self, progress: Progress) -> bool:
        """Note how far a call has come, and keep its hold. False where the hold is not ours and open any more."""
        ...


class Credit(msgspec.Struct, frozen=True, kw_only=True):
    """Quota coming in. The same source id is credited once, however often it is sent."""

    account_id: int
    amount: Quota
    source: str
    source_id: str
    months: int = 0
    days: int = 0
    key_id: int | None = None


class Credited(msgspec.Struct, frozen=True, kw_only=True):
    lot_id: int
    expires_at: datetime
    replayed: bool


# How often a worker says that it lives. Who judges by its silence must know.
HEARTBEAT_SECONDS = 5.0


class Orphans(Protocol):
    """Open holds that nobody will settle any more."""

    async def fence_silent_workers(self, silence_seconds: float) -> Sequence[int]:
        """Take workers without a heartbeat for dead: they may take no more holds."""
        ...

    async def find(self) -> Sequence[Settlement]:
        """The settlements that close holds of dead owners and holds past their deadline."""
        ...


class Revoked(msgspec.Struct, frozen=True):
    """What a revocation took back from a lot, and what is now owed because it was spent."""

    revoked: Quota
    owed: Quota


class Treasury(Protocol):
    """Quota coming in, and the ends of lots."""

    async def credit(self, credit: Credit) -> Credited: ...
    async def extend_lot(self, lot_id: int, until: datetime) -> bool: ...
    async def close_lots(self, grace: timedelta) -> int:
        """Close what expired more than `grace` ago; how many lots that were."""
        ...

    async def turn_partitions(self, keep_holds: timedelta) -> None:
        """Prepare the ledger's tables for the days ahead, and drop closed holds that are older than `keep_holds`."""
        ...

    async def revoke(self, lot_id: int) -> Revoked: ...


class NewKey(msgspec.Struct, frozen=True, kw_only=True):
    account_id: int
    name: str
    expires_at: datetime | None
    quota: Quota | None
    only_models: Collection[str] | None
    pepper_version: int
    digest: bytes
    hint: str


class KeyDesk(Protocol):
    async def create(self, key: NewKey, *, actor: str) -> int: ...
    async def revoke(self, key_id: int, *, actor: str) -> bool:
        """Whether the key was live until now. Raise NotOnFile for an unknown one."""
        ...


class AccountDesk(Protocol):
    async def create(self, name: str, group: str, *, actor: str) -> int: ...
    async def credit(self, credit: Credit, *, actor: str) -> Credited: ...


class NewPrice(msgspec.Struct, frozen=True, kw_only=True):
    """A row for the price book: in force from now on, or from the instant it names."""

    model: Decimal
    completion: Decimal = Decimal(1)
    cached: Decimal = Decimal(1)
    effective_from: datetime | None = None


class NewModel(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    kind: Kind
    price: NewPrice
    only_groups: Collection[str] | None = None


class NewProviderAccount(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    vendor: str
    base_url: str
    secret: str


class CatalogDesk(Protocol):
    async def add_model(self, model: NewModel, *, actor: str) -> None: ...
    async def add_provider_account(self, account: NewProviderAccount, *, actor: str) -> int: ...


class NotOnFile(LookupError):
    """What was named does not exist; the message says which."""


class AlreadyOnFile(ValueError):
    """What was to be made exists already; the message says which."""
