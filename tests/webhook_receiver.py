"""A receiver of webhooks on a socket: keeps what it gets, and answers as it is told to."""

import asyncio
from collections.abc import Callable
from typing import Self

import msgspec
from standardwebhooks.webhooks import Webhook


class Received(msgspec.Struct, frozen=True):
    headers: dict[str, str]
    body: bytes

    def verified(self, secret: str) -> dict[str, object]:
        """What it says, as the library of Standard Webhooks reads it. Raise WebhookVerificationError."""
        told: dict[str, object] = Webhook(secret).verify(self.body, self.headers)
        return told


class Receiver:
    """`answer`: what to say to the so-manieth request, as it stands on the wire; None: nothing, for ever."""

    def __init__(self, answer: Callable[[int], bytes | None] | None = None) -> None:
        self._answer = answer or (lambda _: b"HTTP/1.1 204 No Content\r\n\r\n")
        self._server: asyncio.Server | None = None
        self._arrival = asyncio.Event()
        self.received: list[Received] = []
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook?token=1"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._take, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()

    async def wait_for(self, count: int) -> None:
        """Until so many requests came."""
        async with asyncio.timeout(20):
            while len(self.received) < count:
                self._arrival.clear()
                await self._arrival.wait()

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")[1:]
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head if line)}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            self.received.append(Received(headers, body))
            self._arrival.set()
            answer = self._answer(len(self.received))
            if answer is None:
                await reader.read()
            else:
                writer.write(answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
