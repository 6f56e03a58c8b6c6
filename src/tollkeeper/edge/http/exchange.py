"""One HTTP exchange: what came in, and the reply that goes out."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from uuid import UUID

import msgspec

from tollkeeper.core.addresses import Address
from tollkeeper.core.client_ip import Ip
from tollkeeper.core.errors import GatewayError, KeysDiffer, MalformedHeader
from tollkeeper.core.keys import KeyRecord
from tollkeeper.core.limits.windows import LimitOutcome, WindowStanding
from tollkeeper.edge.call_log import CallLine
from tollkeeper.metrics.calls import SettledCall
from tollkeeper.ports import Ban
from tollkeeper.relay.dispatch.attempt import Attempt
from tollkeeper.server.application import Header, HttpRequest

Before = Callable[[], Awaitable[None]]

JSON: tuple[Header, ...] = ((b"content-type", b"application/json"),)
HTML: tuple[Header, ...] = ((b"content-type", b"text/html; charset=utf-8"),)
EXPOSED = (
    b"x-request-id",
    b"request-id",
    b"x-charged-usd",
    b"x-original-request-id",
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


def answer_no_more(*_: object) -> None:
    """Its answer is known: there is no other. (What answers refers to the exchange, and it would refer to that.)"""


class Exchange:
    """The request side, and the way back. Headers are looked up, not parsed into anything."""

    __slots__ = (
        "_by_name",
        "_has_doubles",
        "address",
        "admitted_at_us",
        "answer_now",
        "answered",
        "attempts",
        "ban",
        "begun",
        "caller",
        "client",
        "code",
        "early_answer",
        "first_byte_seconds",
        "headers",
        "hold_seconds",
        "http",
        "id_names",
        "id_text",
        "ip",
        "key_header",
        "limit",
        "limits_seconds",
        "line",
        "method",
        "model",
        "path",
        "peer",
        "query",
        "request_id",
        "settled",
        "unix_milliseconds",
    )

    def __init__(self, request: HttpRequest, unix_milliseconds: int, request_id: UUID) -> None:
        self.http = request
        self.begun = time.perf_counter()
        self.unix_milliseconds = unix_milliseconds
        self.request_id = request_id
        self.id_text = str(request_id)
        self.answered = False
        # Refuses now what is still being worked on; what comes of that work later is not sent any more.
        # What is given with it is done first, within moments.
        self.answer_now: Callable[[GatewayError, Before | None], None] = answer_no_more
        # That refusal, on its way.
        self.early_answer: asyncio.Future[None] | None = None
        self.method = request.method
        # As it was sent: an encoded slash is no slash, and no route has a name that needs encoding.
        self.path = request.path.decode("latin-1")
        self.query = request.query
        self.headers = request.headers
        self._by_name: dict[bytes, bytes] = dict(self.headers)
        self._has_doubles = len(self._by_name) != len(self.headers)
        self.peer = request.peer[0]
        self.address: Address | None = None
        # Where a key may stand beside Authorization, and under what names the id is told: both as the route has it.
        self.key_header: bytes | None = None
        self.id_names: tuple[bytes, ...] = (b"x-request-id",)
        # The client behind the peer, and how bans and counts name it; nobody where it is one of our own proxies.
        self.client: Ip | None = None
        self.ip = ""
        # One that a good key passes.
        self.ban: Ban | None = None
        self.caller: KeyRecord | None = None
        # How the tightest of its caller's rate limits stands, once that is known.
        self.limit: WindowStanding | None = None
        # For the log line and the metrics alone:
        self.limits_seconds: float | None = None
        self.hold_seconds: float | None = None
        self.admitted_at_us: int | None = None
        self.model: str | None = None
        self.settled: SettledCall | None = None
        self.attempts: Sequence[Attempt] = ()
        self.line: CallLine | None = None
        # Of an answer that goes out in pieces.
        self.first_byte_seconds: float | None = None
        self.code: str | None = None

    @property
    def authorization(self) -> str | None:
        """The credentials, as the header Authorization has them. Raise KeysDiffer."""
        given = self.header(b"authorization")
        key = None if self.key_header is None else self.header(self.key_header)
        if key is None:
            return given
        if given not in (None, f"Bearer {key}"):
            raise KeysDiffer
        return f"Bearer {key}"

    def when_left(self, act: Callable[[], None]) -> None:
        """Act when the client hangs up, unless it was answered by then."""

        def left() -> None:
            if not self.answered:
                act()

        self.http.on_left = left
        if self.http.is_gone:
            left()

    def id_headers(self) -> tuple[Header, ...]:
        text = self.id_text.encode()
        if len(self.id_names) == 1:
            return ((self.id_names[0], text),)
        return tuple((name, text) for name in self.id_names)

    def claim(self) -> bool:
        """The right to answer, for the first who asks."""
        first, self.answered = not self.answered, True
        return first

    def called_by(self, caller: KeyRecord) -> None:
        self.caller = caller

    def note_model(self, model_id: str) -> None:
        self.model = model_id

    def note_settled(self, settled: SettledCall, attempts: Sequence[Attempt]) -> None:
        self.settled = settled
        self.attempts = attempts

    def note_first_byte(self) -> None:
        self.first_byte_seconds = time.perf_counter() - self.begun

    def note_hold(self, waited_seconds: float) -> None:
        # It may have been asked for more than once.
        self.hold_seconds = (self.hold_seconds or 0.0) + waited_seconds

    def note_limits(self, outcome: LimitOutcome, waited_seconds: float | None) -> None:
        self.limit = outcome.standing
        self.limits_seconds = waited_seconds
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
        if not value.isascii() or (self._has_doubles and len(self.header_lines(name)) != 1):
            raise MalformedHeader(f"The header '{name.decode()}' must be sent once, in plain ASCII.")
        return value.decode("ascii")

    def header_lines(self, name: bytes) -> Sequence[bytes]:
        """Every value of a header, in order."""
        if name not in self._by_name:
            return ()
        if not self._has_doubles:
            return (self._by_name[name],)
        return [value for header, value in self.headers if header == name]


class Sent(msgspec.Struct, frozen=True):
    """An answer that has gone out already, piece by piece."""

    status: int
    body_bytes: int
    # Its end will not come, and what was sent of it must not look whole.
    broken_off: bool = False


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
