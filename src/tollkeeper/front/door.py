"""The door: takes callers' connections, and opens one to the gateway when the first whole request is there.

Rules of this file
1. A connection that sends nothing, or half a head, costs the gateway nothing, and ends after `head_seconds`.
2. One IP (IPv6: its /64) has so many connections and no more. Trusted proxies are not counted.
3. Answers are passed on as they come; only where each ends is followed. What is malformed after a request was passed
   on is answered by the gateway, in its turn: bytes that are no request take its place.
4. A front that is about to close says so to whoever asks for its readiness on a new connection, as balancers do. The
   requests that it still takes are each the last of their connection: the gateway says so to the caller, and hangs up.
5. When it has closed its port, it hangs up callers that are between requests, `KEPT_SECONDS` after their last answer:
   who sends the next request at once is still served. A request of which a byte has arrived is served. Whoever waits
   in the kernel's queue then has been taken, as far as anybody outside can tell, and is served as well.
"""

import asyncio
import contextlib
import logging
import socket
import ssl
from collections import Counter
from collections.abc import Coroutine
from typing import cast

import msgspec

from tollkeeper.core.client_ip import Network, is_in, read_ip, written
from tollkeeper.front.answers import AnswerFraming
from tollkeeper.front.closing import closed
from tollkeeper.front.framing import Framing
from tollkeeper.front.refusals import LEAVING, NO_GATEWAY
from tollkeeper.server.connection import has_arrived
from tollkeeper.server.refusals import MALFORMED, SLOW_HEAD

NO_REQUEST = b"\0\r\n\r\n"
READINESS = b"GET /readyz "
BACKLOG = 4096
# Callers far away need so long for the next request, at most.
KEPT_SECONDS = 1.0
LOOK_AGAIN_SECONDS = 0.05

log = logging.getLogger(__name__)


class DoorLimits(msgspec.Struct, frozen=True):
    connections: int
    connections_per_ip: int
    head_seconds: float
    trusted: tuple[Network, ...] = ()


class GatewayAddress(msgspec.Struct, frozen=True):
    """Where the gateway is."""

    host: str
    port: int


class Door:
    """Listens for callers."""

    def __init__(self, gate: GatewayAddress, limits: DoorLimits) -> None:
        self.gate = gate
        self.limits = limits
        # It closes soon; calls are still taken.
        self.is_leaving = False
        # It has closed; calls under way are waited for.
        self.is_draining = False
        self._by_ip: Counter[str] = Counter()
        self._callers: set[Caller] = set()
        self._emptied = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._tls: ssl.SSLContext | None = None

    async def open(self, host: str, port: int, certificate: str = "") -> asyncio.Server:
        """With a certificate (a PEM file, the key beside it), callers speak TLS."""
        if certificate:
            self._tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            self._tls.load_cert_chain(certificate)
        self._server = await asyncio.get_running_loop().create_server(
            lambda: Caller(self), host, port, backlog=BACKLOG, ssl=self._tls, ssl_handshake_timeout=self._tls_seconds
        )
        return self._server

    @property
    def _tls_seconds(self) -> float | None:
        return self.limits.head_seconds if self._tls else None

    def enter(self, caller: "Caller", peer: str) -> str | None:
        """The name under which a connection is counted; None where there is no place for it."""
        ip = read_ip(peer)
        name = "" if ip is None or is_in(ip, self.limits.trusted) else written(ip)
        is_full = len(self._callers) >= self.limits.connections
        if is_full or (name and self._by_ip[name] >= self.limits.connections_per_ip):
            return None
        self._by_ip[name] += 1
        self._callers.add(caller)
        self._emptied.clear()
        return name

    def leave(self, caller: "Caller", name: str) -> None:
        self._by_ip[name] -= 1
        self._callers.discard(caller)
        if not self._by_ip[name]:
            del self._by_ip[name]
        if not self._callers:
            self._emptied.set()

    async def drain(self, seconds: float) -> None:
        """Close the port, and let callers go as soon as they have their answers; wait for that so long at most."""
        self.is_leaving = self.is_draining = True
        waiting = closed(self._server) if self._server is not None else []
        coming = [self._welcome(made) for made in waiting]
        for caller in list(self._callers):
            caller.retire()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await asyncio.gather(*coming)
                await self.wait_until_empty()

    async def _welcome(self, made: socket.socket) -> None:
        # Who is gone already, or speaks no TLS, is nobody's.
        with contextlib.suppress(OSError):
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: Caller(self), made, ssl=self._tls, ssl_handshake_timeout=self._tls_seconds
            )

    async def wait_until_empty(self) -> None:
        if self._callers:
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
        self.other = self._caller = caller
        self._answers = AnswerFraming(caller.framing.asked)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self._caller.transport is not None:
            self._caller.transport.write(data)
        self._answers.feed(data)
        if not self._caller.framing.asked:
            self._caller.note_answered()


class Caller(Side):
    """The connection to a caller."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._name: str | None = None
        self.framing = Framing(b"")
        self._timer: asyncio.TimerHandle | None = None
        self._is_connecting = False
        self._waiting: list[bytes] = []
        self._answered_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        address = transport.get_extra_info("peername")
        # Who has reset the connection already has none, and could be counted under no name.
        peer: str = address[0] if address else ""
        self._name = self._door.enter(self, peer) if address else None
        if self._name is None:
            self.transport.abort()
            return
        self.framing = Framing(f"X-Forwarded-For: {peer}\r\n".encode())
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unwatch()
        if self._name is not None:
            self._door.leave(self, self._name)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self.framing.next_is_last = self._door.is_leaving
        was_broken = self.framing.is_broken
        passed = self.framing.feed(data)
        if passed:
            self._unwatch()
            self._pass(passed)
        if self.framing.is_broken and not was_broken:
            self._refuse()
        elif self.framing.in_head and self._timer is None:
            self._watch()
        elif self._door.is_draining:
            # It may have been answered before it was whole.
            self.retire()

    def note_answered(self) -> None:
        """Every request so far has its answer."""
        self._answered_at = asyncio.get_running_loop().time()
        if self._door.is_draining:
            self.retire()

    def retire(self) -> None:
        """Hang up, between requests. (Who has sent nothing yet has just come, and has its time for a head.)"""
        if self.transport is None or not (self._is_connecting and self.framing.is_between):
            return
        loop = asyncio.get_running_loop()
        kept_seconds = self._answered_at + KEPT_SECONDS - loop.time()
        if kept_seconds > 0:
            loop.call_later(kept_seconds, self.retire)
        elif has_arrived(self.transport):
            loop.call_later(LOOK_AGAIN_SECONDS, self.retire)
        else:
            self.transport.close()

    def _pass(self, data: bytes) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.write(data)
            return
        if self._door.is_leaving and not self._is_connecting and data.startswith(READINESS):
            self._end(LEAVING)
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
