"""The control plane's desks: quota coming in, keys, accounts, the catalog, provider accounts."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Protocol

import msgspec

from tollkeeper.core.catalog import Kind
from tollkeeper.core.media import MediaLimits
from tollkeeper.core.money import Quota
from tollkeeper.core.pool import Place
from tollkeeper.core.quote import TokenLimits
from tollkeeper.ports.upstream import ProviderAccount


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
    # Of an image, its size and quality.
    variant: str = ""


class NewModel(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    kind: Kind
    price: NewPrice
    # Prices of further variants.
    more_prices: Sequence[NewPrice] = ()
    limits: TokenLimits = TokenLimits()
    media: MediaLimits = MediaLimits()
    only_groups: Collection[str] | None = None


class CatalogDesk(Protocol):
    async def add_model(self, model: NewModel, *, actor: str) -> None: ...

    async def chat_models(self) -> Sequence[str]:
        """Their ids, the oldest first."""
        ...


class NewProviderAccount(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    vendor: str
    base_url: str
    secret: str
    place: Place = Place()
    # By our id of a model, the provider's name for it; None where it serves every model under our own name.
    models: Mapping[str, str] | None = None
    # What it costs us, as a part of the list price.
    cost: Decimal = Decimal(1)
    # Parameters of the protocol that it does not take, though its vendor's others do.
    rejects: frozenset[str] = frozenset()
    # The version of the vendor's interface to ask for; None where the vendor's usual one will do.
    api_version: str | None = None


class ProviderState(StrEnum):
    """What an operator wants of a provider account."""

    ACTIVE = "active"
    PAUSED = "paused"
    DRAINING = "draining"


class ProviderStanding(msgspec.Struct, frozen=True, kw_only=True):
    """How a provider account is doing."""

    name: str
    vendor: str
    base_url: str
    place: Place
    # How many it serves; None: all.
    models: int | None
    state: ProviderState
    suspended_at: datetime | None
    suspended_because: str | None
    # Of the calls that began in the last ten minutes.
    attempts: int
    failed: int
    first_byte_ms: int | None
    # Of those that began in the last 24 hours: calls it answered, what they were charged, and what it cost us.
    delivered: int
    charged: Quota
    cost: Quota


class ProviderDesk(Protocol):
    async def add(self, account: NewProviderAccount, *, actor: str) -> int: ...
    async def set_form(self, name: str, *, rejects: frozenset[str] | None, api_version: str | None, actor: str) -> None:
        """What it does not take, and its version of the interface; None leaves one as it is. Raise NotOnFile."""
        ...

    async def set_state(self, name: str, state: ProviderState, *, actor: str) -> bool:
        """Whether that was news. Raise NotOnFile for an unknown one."""
        ...

    async def find(self, name: str) -> ProviderAccount:
        """Raise NotOnFile."""
        ...

    async def standing(self) -> Sequence[ProviderStanding]:
        """Of every account, by tier and name."""
        ...


class NotOnFile(LookupError):
    """What was named does not exist; the message says which."""


class AlreadyOnFile(ValueError):
    """What was to be made exists already; the message says which."""
