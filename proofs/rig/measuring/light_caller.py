"""A caller that costs little: one kept connection, and of each answer only what must be known.

It is HTTP only as far as these answers need it: a status, a length or chunks, no trailers.
"""

import asyncio
import re
import time
from collections.abc import Mapping
from functools import partial
from typing import Self, cast

HEAD_END = b"\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"
EVENT = b"\ndata: "
# An event that begins a chunk: all of them do where none waited for the next.
FIRST_EVENT = b"\r\ndata: "
STAMP = re.compile(rb'"obfuscation":"(\d+)"}')
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


def head(key: str, body: bytes, more: Mapping[str, str] | None = None) -> bytes:
    """What is sent before a body; `more`: headers beside the usual ones."""
    others = "".join(f"{name}: {value}\r\n" for name, value in (more or {}).items())
    return (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n"
        f"{others}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode()


class Caller(asyncio.Protocol):
    """One connection. It asks again only when its answer is over."""

    def __init__(self, late_ns: list[int] | None = None) -> None:
        """`late_ns`: where it notes how long each stamped event was under way; those that come in two parts are not."""
        self._late_ns = late_ns
        # Of all its answers: events, and those that came in a chunk of their own or at the beginning of one.
        self.events = 0
        self.first_events = 0
        self._head = b""
        self._left_bytes: int | None = None
        self._tail = b""
        self._over: asyncio.Future[None] | None = None

    @classmethod
    async def connected(cls, port: int, late_ns: list[int] | None = None) -> Self:
        made = partial(cls, late_ns)
        _, caller = await asyncio.get_running_loop().create_connection(made, "127.0.0.1", port)
        return caller

    async def ask(self, asked: bytes) -> None:
        """Send a request and wait until its answer is over."""
        self._head, self._left_bytes, self._tail = b"", None, b""
        self._over = asyncio.get_running_loop().create_future()
        self._transport.write(asked)
        await self._over

    def close(self) -> None:
        self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if HEAD_END in self._head:
            self._read_body(data)
            return
        self._head += data
        head, end, body = self._head.partition(HEAD_END)
        if end:
            if not head.startswith(b"HTTP/1.1 200 "):
                self._fail(f"not answered but refused: {self._head[:500]!r}")
                return
            length = LENGTH.search(head)
            self._left_bytes = int(length[1]) if length else None
            self._read_body(body)

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(f"the connection was closed: {exc}")

    def _read_body(self, data: bytes) -> None:
        if self._left_bytes is not None:
            self._left_bytes -= len(data)
            is_over = self._left_bytes == 0
        else:
            if self._late_ns is not None:
                now_ns = time.monotonic_ns()
                self._late_ns += [now_ns - int(sent_ns) for sent_ns in STAMP.findall(data)]
            seen = self._tail + data
            self.events += seen.count(EVENT) - self._tail.count(EVENT)
            self.first_events += seen.count(FIRST_EVENT)
            self._tail = seen[-len(FIRST_EVENT) + 1 :]
            is_over = seen.endswith(LAST_CHUNK)
        if is_over and self._over is not None and not self._over.done():
            self._over.set_result(None)

    def _fail(self, why: str) -> None:
        if self._over is not None and not self._over.done():
            self._over.set_exception(ConnectionError(why))
