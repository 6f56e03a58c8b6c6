"""The console's chat: calls of a customer who is signed in, with a key that follows from the session.

Rules of this file
1. A key's text is derived from the session's token under a secret of the console. Only the browser has the one and only
   the console the other, so every process of the console can make it anew and none has to keep it.
2. A key lasts minutes, and every message makes it last longer. The database revokes it in the transaction that ends its
   session.
"""

import hmac

import msgspec

from tollkeeper.core.keys import Peppers, derive, hint
from tollkeeper.core.people.logins import SessionOver, SessionRecord
from tollkeeper.ports import UpstreamAnswer, UpstreamRequest
from tollkeeper.ports.customers.chat import ChatGateway, ChatKeys
from tollkeeper.ports.customers.desks import KeyText

# As owners see it among the keys of their calls.
KEY_NAME = "Chat in the console"
KEY_SECONDS = 15 * 60
PATH = "/v1/chat/completions"


class ChatKeyMaker(msgspec.Struct, frozen=True):
    cell: str
    peppers: Peppers
    # The same in every process of the console.
    secret: bytes

    def make(self, token: str) -> tuple[str, KeyText]:
        """The key of the session that has this token, and what may be kept of it."""
        key, version = derive(self.cell, hmac.digest(self.secret, token.encode(), "sha512")), self.peppers.in_use
        return key, KeyText(version, self.peppers.digest(key, version), hint(key))


class OpenedChatKey(msgspec.Struct, frozen=True):
    key: str
    is_busy: bool


class ChatDesk(msgspec.Struct, frozen=True, kw_only=True):
    keys: ChatKeys
    maker: ChatKeyMaker
    gateway: ChatGateway
    # http://10.0.0.5:8080; and the host name by which it knows its main address, where that is another.
    gateway_url: str
    gateway_host: str = ""
    # How long to wait for an answer to begin.
    patience_seconds: float = 600.0
    # The sessions to which this process passes on an answer.
    talking: set[int] = msgspec.field(default_factory=set)

    async def call(self, body: bytes, key: str, *, ip: str) -> UpstreamAnswer:
        """Raise UpstreamFailed."""
        headers = [("authorization", f"Bearer {key}"), ("content-type", "application/json")]
        headers += [("host", self.gateway_host)] if self.gateway_host else []
        # Believed only where the console is one of the gateway's trusted proxies.
        headers += [("x-forwarded-for", ip)] if ip else []
        return await self.gateway.send(
            UpstreamRequest(self.gateway_url + PATH, tuple(headers), body, self.patience_seconds)
        )


async def open_chat_key(session: SessionRecord, token: str, desk: ChatDesk) -> OpenedChatKey:
    """The key with which this session chats. Raise SessionOver."""
    key, text = desk.maker.make(token)
    standing = await desk.keys.open(session, text, KEY_NAME, lasts_seconds=KEY_SECONDS)
    if standing is None:
        raise SessionOver
    return OpenedChatKey(key, standing.is_busy)
