"""Provider accounts as operators keep them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Protocol

import msgspec

from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.one_line import one_line
from tollkeeper.core.pool.choice import PoolPlace
from tollkeeper.ports.providers.upstream import ProviderAccount


class NewProviderAccount(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    vendor: str
    base_url: str
    secret: str
    place: PoolPlace = PoolPlace()
    # By our id of a model, the provider's name for it; None where it serves every model under our own name.
    models: Mapping[str, str] | None = None
    # What it costs us, as a part of the list price.
    cost: Decimal = Decimal(1)
    # Parameters of the protocol that it does not take, though its vendor's others do.
    rejects: frozenset[str] = frozenset()
    # Parameters that the protocol's table does not have, and that the operator lets pass to it.
    passes: frozenset[str] = frozenset()
    # The version of the vendor's interface to ask for; None where the vendor's usual one will do.
    api_version: str | None = None

    def __post_init__(self) -> None:
        one_line(self.name, "A provider account's name")
        one_line(self.base_url, "A provider's address")
        for ours, theirs in (self.models or {}).items():
            one_line(ours + theirs, "The name of a model")


class ProviderForm(msgspec.Struct, frozen=True, kw_only=True):
    """What an account is sent: parameters that it does not take, those that it takes beside the listed ones, and its
    version of the interface. None leaves one as it is."""

    rejects: frozenset[str] | None = None
    passes: frozenset[str] | None = None
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
    place: PoolPlace
    # How many it serves; None: all.
    models: int | None
    state: ProviderState
    suspended_at: datetime | None
    suspended_because: str | None
    # As in `ProviderForm`.
    rejects: frozenset[str] = frozenset()
    passes: frozenset[str] = frozenset()
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
    async def set_form(self, name: str, form: ProviderForm, *, actor: str) -> None:
        """Raise NotOnFile."""
        ...

    async def set_key(self, name: str, secret: str, *, actor: str) -> None:
        """Another key at the same provider. Raise NotOnFile."""
        ...

    async def set_state(self, name: str, state: ProviderState, *, actor: str) -> bool:
        """Whether that was news. Raise NotOnFile for an unknown one."""
        ...

    async def find(self, name: str) -> ProviderAccount:
        """Raise NotOnFile, also where its key cannot be opened."""
        ...

    async def with_key(self, name: str, key: str) -> ProviderAccount:
        """As it would be with this key, whether or not its own can be opened. Raise NotOnFile."""
        ...

    async def standing(self) -> Sequence[ProviderStanding]:
        """The standing of every account, by tier and name."""
        ...
