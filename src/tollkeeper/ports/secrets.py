"""The desk for the service's own secrets: what stands under each version, and what is filed anew."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec


class StillNeeded(ValueError):
    """A pepper that keys or recovery codes still stand under."""


class PepperUse(msgspec.Struct, frozen=True):
    """How much can only be recognised with one version: keys (their former texts included) and recovery codes."""

    keys: int
    recovery_codes: int


class KnowingNode(msgspec.Struct, frozen=True):
    """A node that is alive, and the secrets that it says it knows."""

    name: str
    secrets: Sequence[str]


class Resealed(msgspec.Struct, frozen=True):
    """How many secrets were sealed anew, and the names of those that no listed key opens."""

    sealed: int
    lost: Sequence[str]


class SecretDesk(Protocol):
    async def pepper_uses(self) -> Mapping[int, PepperUse]:
        """By version; those under which nothing stands are left out."""
        ...

    async def envelope_uses(self) -> Mapping[int, int]:
        """Sealed secrets, by the version of their master key."""
        ...

    async def nodes(self) -> Sequence[KnowingNode]: ...

    async def retire_pepper(self, version: int, *, leaving: int, actor: str) -> None:
        """On the record. Raise StillNeeded where something stands under it, other than `leaving` things."""
        ...

    async def reseal(self, *, actor: str) -> Resealed:
        """Seal everything anew that is not sealed under the version in use."""
        ...
