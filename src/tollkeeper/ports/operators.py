"""Operator keys, and requests that are done once, as they are kept."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from tollkeeper.core.client_ip import Network
from tollkeeper.core.people.operator_keys import OperatorKeyRecord, Scope


class NewOperatorKey(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    digest: bytes
    hint: str
    scopes: frozenset[Scope]
    expires_at: datetime
    only_networks: Sequence[Network] | None = None
    account_id: int | None = None


class OperatorKeys(Protocol):
    async def create(self, key: NewOperatorKey, *, actor: str) -> int:
        """Raise AlreadyOnFile where a live key has this name, NotOnFile where the account has no staff login."""
        ...

    async def find(self, digest: bytes) -> OperatorKeyRecord | None: ...
    async def note_use(self, key_id: int) -> None: ...
    async def listed(self) -> Sequence[OperatorKeyRecord]:
        """The live ones, then those that ended in the last 90 days; the newest first."""
        ...

    async def revoke(self, name: str, reason: str, *, actor: str) -> bool:
        """Whether it was live. Raise NotOnFile."""
        ...


class RequestClaim(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a request with an idempotency key."""

    # Whether whoever asked is to do it now.
    is_ours: bool
    # Of what it asks for: the same key for another request is a mistake.
    digest: bytes
    # None: not answered yet.
    status: int | None
    answer: bytes


class RequestBook(Protocol):
    """Requests that must be done once (idempotency keys)."""

    async def claim(self, asker: str, key: str, digest: bytes) -> RequestClaim:
        """Take it on, for a minute, unless somebody else has."""
        ...

    async def answered(self, asker: str, key: str, status: int, answer: bytes) -> None: ...
    async def release(self, asker: str, key: str) -> None:
        """Nothing was done: whoever sends it again may try at once."""
        ...
