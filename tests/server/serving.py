"""A listener of this process on a port of its own, and what is said to it over real sockets."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from tollkeeper.server.application import HttpRequest
from tollkeeper.server.listener import ConnectionLimits, Listener

LIMITS = ConnectionLimits(connections=100, idle_seconds=60, crowded_idle_seconds=60)
GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
SOON_SECONDS = 20.0

Answer = Callable[[HttpRequest], Awaitable[None]]
Pair = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Serving:
    def __init__(self, listener: Listener, port: int) -> None:
        self.listener = listener
        self.port = port
        self._writers: list[asyncio.StreamWriter] = []

    async def connect(self) -> Pair:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self._writers.append(writer)
        return reader, writer

    def hang_up(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def say(self, raw: bytes) -> bytes:
        """All that comes back until the connection is closed."""
        reader, writer = await self.connect()
        writer.write(raw)
        try:
            return await asyncio.wait_for(reader.read(), SOON_SECONDS)
        except ConnectionResetError:
            return b""
        finally:
            writer.close()


@asynccontextmanager
async def serving(answer: Answer, limits: ConnectionLimits = LIMITS) -> AsyncIterator[Serving]:
    listening = socket.create_server(("127.0.0.1", 0))
    listener = Listener(answer, limits)
    listener.begin(listening)
    server = Serving(listener, listening.getsockname()[1])
    try:
        yield server
    finally:
        server.hang_up()
        await asyncio.wait_for(listener.close(), SOON_SECONDS)


async def body_of(request: HttpRequest) -> bytes:
    pieces = []
    while not request.is_read:
        pieces.append(await request.read())
    return b"".join(pieces)


async def echo(request: HttpRequest) -> None:
    """Answer with method, path and body."""
    body = await body_of(request)
    request.answer(200, [], b"%b %b %b" % (request.method.encode(), request.path, body))


def closing(raw: bytes) -> bytes:
    """The same request, as the last of its connection."""
    return raw.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1)
