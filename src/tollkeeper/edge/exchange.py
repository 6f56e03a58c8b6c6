"""One HTTP exchange: what came in, and the reply that goes out."""

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

import msgspec

from tollkeeper.core.addresses import Address
from tollkeeper.core.errors import MalformedHeader

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Header = tuple[bytes, bytes]


class Exchange:
    """The request side. Headers are looked up, not parsed into anything."""

    __slots__ = (
        "account_id",
        "address",
        "code",
        "headers",
        "key_id",
        "method",
        "path",
        "peer",
        "receive",
        "request_id",
    )

    def __init__(self, scope: Scope, receive: Receive, request_id: str) -> None:
        self.receive = receive
        self.request_id = request_id
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.headers: Iterable[Header] = scope["headers"]
        client = scope.get("client")
        self.peer: str = client[0] if client else ""
        self.address: Address | None = None
        # For the log line alone:
        self.key_id: int | None = None
        self.account_id: int | None = None
        self.code: str | None = None

    def header(self, name: bytes) -> str | None:
        """The value of a header that may stand only once."""
        values = [value for header, value in self.headers if header == name]
        if not values:
            return None
        if len(values) > 1 or not values[0].isascii():
            raise MalformedHeader(f"The header '{name.decode()}' must be sent once, in plain ASCII.")
        return values[0].decode("ascii")


class Reply(msgspec.Struct, frozen=True):
    """The answer side: a whole body and its status."""

    body: bytes
    status: int = 200
    headers: tuple[Header, ...] = ((b"content-type", b"application/json"),)
