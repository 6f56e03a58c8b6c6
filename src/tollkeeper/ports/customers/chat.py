"""The console's chat: its keys, and the way to the gateway."""

from typing import Protocol

import msgspec

from tollkeeper.core.people.logins import SessionRecord
from tollkeeper.ports.customers.desks import KeyText
from tollkeeper.ports.providers.upstream import Upstream


class ChatKeyStanding(msgspec.Struct, frozen=True):
    key_id: int
    # Whether quota is held for a call of this key: one is under way, or was a moment ago.
    is_busy: bool


class ChatKeys(Protocol):
    async def open(
        self, session: SessionRecord, text: KeyText, name: str, *, lasts_seconds: int
    ) -> ChatKeyStanding | None:
        """The key of this session's chat, with this text, for so long from now. None where the session is over, or its
        key was revoked."""
        ...


class ChatGateway(Upstream, Protocol):
    """The way from the console to the gateway."""

    async def close(self) -> None: ...
