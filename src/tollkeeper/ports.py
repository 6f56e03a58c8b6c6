"""What the data plane and the control plane need of the outside, as protocols.

Adapters live in `storage` and `providers`; `app` puts them together.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from tollkeeper.core.balance import Standing
from tollkeeper.core.catalog import Kind, Model, Price
from tollkeeper.core.keys import KeyRecord
from tollkeeper.core.money import Quota


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


class Credit(msgspec.Struct, frozen=True, kw_only=True):
    """Quota coming in. The same source id is credited once, however often it is sent."""

    account_id: int
    amount: Quota
    source: str
    source_id: str
    term_months: int


class Lot(msgspec.Struct, frozen=True, kw_only=True):
    lot_id: int
    expires_at: datetime
    replayed: bool


class AccountDesk(Protocol):
    async def create(self, name: str, group: str, *, actor: str) -> int: ...
    async def credit(self, credit: Credit, *, actor: str) -> Lot: ...


class NewModel(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    kind: Kind
    price: Price
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
