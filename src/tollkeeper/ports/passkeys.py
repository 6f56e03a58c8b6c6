"""Passkeys on file, by account."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from tollkeeper.core.people.passkeys import MadePasskey, PasskeyRecord


class NewPasskey(msgspec.Struct, frozen=True, kw_only=True):
    account_id: int
    name: str
    user_handle: bytes
    made: MadePasskey


class Passkeys(Protocol):
    async def find(self, credential_id: bytes) -> PasskeyRecord | None: ...
    async def of(self, account_id: int) -> Sequence[PasskeyRecord]:
        """The oldest first."""
        ...

    async def add(self, passkey: NewPasskey, *, actor: str) -> bool:
        """Whether it was added; if so, the owner is told. Not where anybody has it already, or the account is full."""
        ...

    async def remove(self, account_id: int, passkey_id: int, *, keep_session_id: int | None, actor: str) -> bool:
        """Whether the account had it; if so, every other session is over, and the owner is told."""
        ...
