"""Provider accounts as operators keep them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Protocol

import msgspec
from msgspec import UNSET, UnsetType

from tollkeeper.core.catalog.families import is_of_family
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
    # By our id of a model, the provider's name for it; None where it serves every model, or every one of its family,
    # under our own name.
    models: Mapping[str, str] | None = None
    family: str | None = None
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
        require_names(self.models)


def require_names(models: Mapping[str, str] | None) -> None:
    """Raise NotOneLine where a model's name is none."""
    for ours, theirs in (models or {}).items():
        one_line(ours + theirs, "The name of a model")


class ProviderChange(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes different about a provider account; what is UNSET stays, and None takes a limit away."""

    # The address by which the change was judged. Where it is another by now, nothing is changed: a key must not come
    # to a host that it was not given for.
    judged_address: str
    base_url: str | UnsetType = UNSET
    secret: str | UnsetType = UNSET
    tier: int | UnsetType = UNSET
    weight: int | UnsetType = UNSET
    requests_per_minute: int | UnsetType | None = UNSET
    tokens_per_minute: int | UnsetType | None = UNSET
    concurrency: int | UnsetType | None = UNSET
    models: Mapping[str, str] | UnsetType | None = UNSET
    family: str | UnsetType | None = UNSET
    cost_multiplier: Decimal | UnsetType = UNSET
    rejects: Sequence[str] | UnsetType = UNSET
    passes: Sequence[str] | UnsetType = UNSET
    api_version: str | UnsetType | None = UNSET

    def __post_init__(self) -> None:
        if self.base_url is not UNSET:
            one_line(self.base_url, "A provider's address")
        if self.models is not UNSET:
            require_names(self.models)


class ChangedMeanwhile(ValueError):
    """Somebody else gave the account another address while this change was judged."""

    def __init__(self, name: str) -> None:
        super().__init__(f"The address of '{name}' was just changed by somebody else. Look, and repeat it.")


class StillActive(ValueError):
    """An account that takes calls is not removed."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"'{name}' is active. Pause it or let it drain first, and remove it when its calls are over. Nothing was "
            "changed."
        )


class ProviderState(StrEnum):
    """What an operator wants of a provider account."""

    ACTIVE = "active"
    PAUSED = "paused"
    DRAINING = "draining"


class ProviderRecord(msgspec.Struct, frozen=True, kw_only=True):
    """All that is kept about a provider account, but its key."""

    id: int
    name: str
    vendor: str
    base_url: str
    place: PoolPlace
    models: Mapping[str, str] | None
    family: str | None
    cost_multiplier: Decimal
    state: ProviderState
    rejects: Sequence[str]
    passes: Sequence[str]
    api_version: str | None
    created_at: datetime

    def serves(self, model_id: str) -> bool:
        if self.models is not None:
            return model_id in self.models
        return self.family is None or is_of_family(model_id, self.family)


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
    # As in `NewProviderAccount`.
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


class Finding(msgspec.Struct, frozen=True):
    """What one trial of a provider account came to."""

    what: str
    works: bool
    detail: str


class ProviderDesk(Protocol):
    async def add(self, account: NewProviderAccount, *, actor: str) -> int:
        """Raise AlreadyOnFile, also for the name of an account that was removed."""
        ...

    async def change(self, name: str, change: ProviderChange, *, actor: str) -> bool:
        """Whether anything is different now. Raise NotOnFile, ChangedMeanwhile."""
        ...

    async def remove(self, name: str, reason: str, *, actor: str) -> None:
        """With its key. Its name stays taken, for its calls are on record under it. Raise NotOnFile, StillActive."""
        ...

    async def record(self, name: str) -> ProviderRecord:
        """Raise NotOnFile."""
        ...

    async def records(self) -> Sequence[ProviderRecord]: ...

    async def sold_models(self) -> Sequence[str]:
        """Our ids of the catalog's models."""
        ...

    async def set_key(self, name: str, secret: str, *, given_for: str, actor: str) -> None:
        """Another key at the same provider. `given_for`: the address that the account must still have. Raise NotOnFile,
        ChangedMeanwhile."""
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
