"""The door: takes callers' connections, and opens one to the gateway when the first whole request is there.

Rules of this file
1. A connection that sends nothing, or half a head, costs the gateway nothing, and ends after `head_seconds`.
2. One IP (IPv6: its /64) has so many connections and no more. Trusted proxies are not counted.
3. Answers are not read, only passed on. What is malformed after a request was passed on is answered by the gateway, in
   its turn: bytes that are no request take its place.
"""

import asyncio
import contextlib
import json
import logging
import ssl
from collections import Counter
from collections.abc import Coroutine
from typing import cast

import msgspec

from tollkeeper.core.client_ip import Network, is_in, read_ip, written
from tollkeeper.front.framing import Framing

NO_REQUEST = b"\0\r\n\r\n"
BACKLOG = 4096

log = logging.getLogger(__name__)


class Limits(msgspec.Struct, frozen=True):
    connections: int
    connections_per_ip: int
    head_seconds: float
    trusted: tuple[Network, ...] = ()


class Gate(msgspec.Struct, frozen=True):
    """Where the gateway is."""

    host: str
    port: int


def refusal(status: str, kind: str, code: str, message: str) -> bytes:
    """An answer of the front's own, in the form of the gateway's."""
    error = {"message": message, "type": kind, "param": None, "code": code}
    body = json.dumps({"error": error}).encode()
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
    return f"{head}cache-control: no-store\r\nconnection: close\r\n\r\n".encode() + body


MALFORMED = refusal(
    "400 Bad Request",
    "invalid_request_error",
    "malformed_request",
    "The request is not well-formed HTTP/1.1, and the connection is closed. Nothing was charged. Correct it before "
    "sending it again.",
)
SLOW_HEAD = refusal(
    "408 Request Timeout",
    "invalid_request_error",
    "slow_head",
    "The head of the request did not arrive in time. Nothing was charged. Check the connection, then send it again.",
)
NO_GATEWAY = refusal(
    "503 Service Unavailable",
    "server_error",
    "unavailable",
    "The service is unavailable for a moment. Nothing was charged. Try again shortly.",
)


class Door:
    """Listens for callers."""

    def __init__(self, gate: Gate, limits: Limits) -> None:
        self.gate = gate
        self.limits = limits
        self._by_ip: Counter[str] = Counter()
        self._taken = 0
        self._emptied = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self, host: str, port: int, certificate: str = "") -> asyncio.Server:
        """With a certificate (a PEM file, the key beside it), callers speak TLS."""
        context = None
        if certificate:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(certificate)
        handshake = self.limits.head_seconds if context else None
        return await asyncio.get_running_loop().create_server(
            lambda: Caller(self), host, port, backlog=BACKLOG, ssl=context, ssl_handshake_timeout=handshake
        )

    def enter(self, peer: str) -> str | None:
        """The name under which a connection is counted; None where there is no place for it."""
        ip = read_ip(peer)
        name = "" if ip is None or is_in(ip, self.limits.trusted) else written(ip)
        is_full = self._taken >= self.limits.connections
        if is_full or (name and self._by_ip[name] >= self.limits.connections_per_ip):
            return None
        self._by_ip[name] += 1
        self._taken += 1
        self._emptied.clear()
        return name

    def leave(self, name: str) -> None:
        self._by_ip[name] -= 1
        self._taken -= 1
        if not self._by_ip[name]:
            del self._by_ip[name]
        if not self._taken:
            self._emptied.set()

    async def wait_until_empty(self, seconds: float) -> None:
        if not self._taken:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._emptied.wait()

    def begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class Side(asyncio.Protocol):
    """One of the two connections of a caller. Who cannot be written to is not read for: back-pressure."""

    transport: asyncio.Transport | None = None
    other: "Side | None" = None

    def pause_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """Whichever ends first ends the other, after what is still to be written."""
        self.transport = None
        if self.other is not None and self.other.transport is not None:
            self.other.transport.close()


class Inward(Side):
    """The connection to the gateway."""

    def __init__(self, caller: "Caller") -> None:
        self.other = caller

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.write(data)


class Caller(Side):
    """The connection to a caller."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._name: str | None = None
        self._framing = Framing(b"")
        self._timer: asyncio.TimerHandle | None = None
        self._is_connecting = False
        self._waiting: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        address = transport.get_extra_info("peername")
        peer: str = address[0] if address else ""
        self._name = self._door.enter(peer)
        if self._name is None:
            self.transport.abort()
            return
        self._framing = Framing(f"X-Forwarded-For: {peer}\r\n".encode())
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unwatch()
        if self._name is not None:
            self._door.leave(self._name)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        was_broken = self._framing.is_broken
        passed = self._framing.feed(data)
        if passed:
            self._unwatch()
            self._pass(passed)
        if self._framing.is_broken and not was_broken:
            self._refuse()
        elif self._framing.in_head and self._timer is None:
            self._watch()

    def _pass(self, data: bytes) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.write(data)
            return
        self._waiting.append(data)
        if not self._is_connecting and self.transport is not None:
            self._is_connecting = True
            self.transport.pause_reading()
            self._door.begin(self._connect())

    async def _connect(self) -> None:
        gate = self._door.gate
        try:
            _, inward = await asyncio.get_running_loop().create_connection(lambda: Inward(self), gate.host, gate.port)
        except OSError:
            log.warning("the gateway does not take connections on %s:%d", gate.host, gate.port)
            self._end(NO_GATEWAY)
            return
        if self.transport is None or inward.transport is None:
            if inward.transport is not None:
                inward.transport.close()
            return
        self.other = inward
        inward.transport.write(b"".join(self._waiting))
        self._waiting.clear()
        self.transport.resume_reading()

    def _refuse(self) -> None:
        self._unwatch()
        if self._is_connecting:
            self._pass(NO_REQUEST)
        else:
            self._end(MALFORMED)

    def _late(self) -> None:
        self._timer = None
        self._end(b"" if self._is_connecting else SLOW_HEAD)

    def _end(self, answer: bytes) -> None:
        if self.transport is not None:
            self.transport.write(answer)
            self.transport.close()

    def _watch(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._door.limits.head_seconds, self._late)

    def _unwatch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
