"""One HTTP exchange: what came in, and the reply that goes out."""

import os
import time
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any

import msgspec

from tollkeeper.core.addresses import Address
from tollkeeper.core.client_ip import Ip
from tollkeeper.core.errors import GatewayError, MalformedHeader
from tollkeeper.core.keys import KeyRecord
from tollkeeper.core.limits import Outcome, Standing
from tollkeeper.core.request_id import uuid7
from tollkeeper.ports import Ban

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Header = tuple[bytes, bytes]

JSON: tuple[Header, ...] = ((b"content-type", b"application/json"),)
EXPOSED = (
    b"x-request-id",
    b"x-charged-usd",
    b"x-should-retry",
    b"retry-after",
    b"x-ratelimit-limit-requests",
    b"x-ratelimit-remaining-requests",
    b"x-ratelimit-reset-requests",
)
# Browser clients are real clients: every answer of the API may be read from any origin.
ANY_ORIGIN: tuple[Header, ...] = (
    (b"access-control-allow-origin", b"*"),
    (b"access-control-expose-headers", b", ".join(EXPOSED)),
)


class Exchange:
    """The request side, and the way back. Headers are looked up, not parsed into anything."""

    __slots__ = (
        "_by_name",
        "_id_text",
        "address",
        "admitted_at_us",
        "answered",
        "ban",
        "begun",
        "caller",
        "client",
        "code",
        "headers",
        "heard_out",
        "ip",
        "limit",
        "method",
        "path",
        "peer",
        "receive",
        "refuse_early",
        "request_id",
        "send",
        "unix_milliseconds",
    )

    def __init__(self, scope: Scope, receive: Receive, send: Send, unix_milliseconds: int) -> None:
        self.receive = receive
        self.send = send
        self.begun = time.perf_counter()
        self.unix_milliseconds = unix_milliseconds
        self.request_id = uuid7(unix_milliseconds, os.urandom(10))
        self._id_text = ""
        self.answered = False
        # Whether the request's body has been read to its end.
        self.heard_out = False
        # Refuses now what is still being worked on; what comes of that work later is not sent any more.
        self.refuse_early: Callable[[GatewayError], None] = lambda _: None
        self.method: str = scope["method"]
        # As it was sent: an encoded slash is no slash, and no route has a name that needs encoding.
        self.path: str = scope["raw_path"].decode("latin-1") if "raw_path" in scope else scope["path"]
        self.headers: Sequence[Header] = scope["headers"]
        self._by_name: dict[bytes, bytes] = dict(self.headers)
        client = scope.get("client")
        self.peer: str = client[0] if client else ""
        self.address: Address | None = None
        # The client behind the peer, and how bans and counts name it; nobody where it is one of our own proxies.
        self.client: Ip | None = None
        self.ip = ""
        # One that a good key passes.
        self.ban: Ban | None = None
        self.caller: KeyRecord | None = None
        # How the tightest of its caller's rate limits stands, once that is known.
        self.limit: Standing | None = None
        # For the log line alone:
        self.admitted_at_us: int | None = None
        self.code: str | None = None

    @property
    def id_text(self) -> str:
        self._id_text = self._id_text or str(self.request_id)
        return self._id_text

    def claim(self) -> bool:
        """The right to answer, for the first who asks."""
        first, self.answered = not self.answered, True
        return first

    def called_by(self, caller: KeyRecord) -> None:
        self.caller = caller

    def limits_told(self, outcome: Outcome) -> None:
        self.limit = outcome.standing
        if outcome.refused is None:
            self.admitted_at_us = outcome.at_us

    def limit_headers(self) -> tuple[Header, ...]:
        limit = self.limit
        if limit is None:
            return ()
        return (
            (b"x-ratelimit-limit-requests", b"%d" % limit.window.limit),
            (b"x-ratelimit-remaining-requests", b"%d" % limit.remaining),
            (b"x-ratelimit-reset-requests", b"%ds" % limit.reset_seconds),
        )

    def header(self, name: bytes) -> str | None:
        """The value of a header that may stand only once."""
        value = self._by_name.get(name)
        if value is None:
            return None
        if not value.isascii() or len(self.header_lines(name)) > 1:
            raise MalformedHeader(f"The header '{name.decode()}' must be sent once, in plain ASCII.")
        return value.decode("ascii")

    def header_lines(self, name: bytes) -> Sequence[bytes]:
        """Every value of a header, in order."""
        if name not in self._by_name:
            return ()
        if len(self._by_name) == len(self.headers):
            return (self._by_name[name],)
        return [value for header, value in self.headers if header == name]


class Sent(msgspec.Struct, frozen=True):
    """An answer that has gone out already, piece by piece."""

    status: int
    body_bytes: int
    # Its end will not come, and what was sent of it must not look whole.
    broken_off: bool = False


class BrokenOff(Exception):
    """For the server: to break the connection off is the only way to say it in the middle of a file."""


class Reply(msgspec.Struct, frozen=True):
    """An answer that is still to go out: a whole body and its status."""

    body: bytes
    status: int = 200
    headers: tuple[Header, ...] = JSON
    # What others may do with it on the way.
    caching: bytes = b"no-store"

    @property
    def body_bytes(self) -> int:
        return len(self.body)
