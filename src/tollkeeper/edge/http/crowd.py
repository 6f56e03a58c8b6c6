"""Places for calls: connections without a call are closed when many are open (slowloris).

The server takes so many connections and then no more. It closes one that is idle after `idle_seconds`, which has to be
long, because balancers keep connections. So when more than half are taken, this closes those without a call sooner.

Rules of this file
1. A connection with a call under way is never closed here, however slow.
2. The fuller, the less time a connection has without a call.
3. Connections are told apart by the client's port: two clients that share one are both spared.
"""

import asyncio
import contextlib
import os
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

from tollkeeper.edge.http.exchange import AsgiScope, Receive, Send

LOOK_EVERY_SECONDS = 1.0
SECONDS_LEAST = 1.0
# Looked at in one go; then calls have their turn.
SLICE = 200
DESCRIPTORS = Path("/proc/self/fd")

App = Callable[[AsgiScope, Receive, Send], Awaitable[None]]


class Crowd:
    """The callers' connections of one worker process."""

    def __init__(self, *, port: int, connections: int, idle_seconds: float) -> None:
        self._port = port
        self._connections = connections
        self._idle_seconds = idle_seconds
        # Calls under way, by the client's port.
        self._calls: dict[int, int] = {}
        # Since when there has been none; kept only while it is crowded.
        self._since: dict[int, float] = {}

    async def serve(self, app: App, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """One call, on a connection that is not closed meanwhile."""
        # The server writes it as text.
        port = int(scope["client"][1])
        self._calls[port] = self._calls.get(port, 0) + 1
        try:
            await app(scope, receive, send)
        finally:
            self._end(port)

    def _end(self, port: int) -> None:
        left = self._calls.pop(port) - 1
        if left:
            self._calls[port] = left
        else:
            self._since[port] = time.monotonic()

    async def watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY_SECONDS)
            descriptors = _descriptors()
            if 2 * len(descriptors) < self._connections:
                self._since.clear()
            else:
                await self._thin_out(descriptors)

    async def _thin_out(self, descriptors: list[int]) -> None:
        ports = [port async for port, _ in self._callers(descriptors)]
        now = time.monotonic()
        self._since = {port: self._since.get(port, now) for port in ports}
        free = 1 - len(ports) / self._connections
        if free > 0.5:
            return
        oldest = now - max(SECONDS_LEAST, 2 * free * self._idle_seconds)
        async for port, connection in self._callers(descriptors):
            if port not in self._calls and self._since.get(port, now) <= oldest:
                _hang_up(connection)

    async def _callers(self, descriptors: list[int]) -> AsyncIterator[tuple[int, socket.socket]]:
        """Each caller's port and connection."""
        for start in range(0, len(descriptors), SLICE):
            for connection in _sockets(descriptors[start : start + SLICE]):
                with connection:
                    port = _client_port(connection, self._port)
                    if port is not None:
                        yield port, connection
            await asyncio.sleep(0)


def _descriptors() -> list[int]:
    try:
        return [int(entry.name) for entry in DESCRIPTORS.iterdir()]
    except OSError:
        return []


def _sockets(descriptors: list[int]) -> Iterator[socket.socket]:
    """Copies of those that are sockets: what a descriptor stands for may change at any time, what its copy does not."""
    for descriptor in descriptors:
        found = _socket(descriptor)
        if found is not None:
            yield found


def _socket(descriptor: int) -> socket.socket | None:
    try:
        copy = os.dup(descriptor)
    except OSError:
        return None
    try:
        return socket.socket(fileno=copy)
    except OSError:
        os.close(copy)
        return None


def _client_port(connection: socket.socket, served_port: int) -> int | None:
    """The port of the caller who opened this connection; None for every other socket."""
    if connection.family not in {socket.AF_INET, socket.AF_INET6} or connection.type != socket.SOCK_STREAM:
        return None
    try:
        is_ours = connection.getsockname()[1] == served_port
        port: int = connection.getpeername()[1]
    except OSError:
        return None
    return port if is_ours else None


def _hang_up(connection: socket.socket) -> None:
    """The server reads an end, and closes."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
