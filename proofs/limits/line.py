"""A line: one kept connection to a node, from an IP of the caller's choice, that asks and hears whole answers.

It is HTTP only as far as these answers need it: a status, headers, a length or chunks, no trailers.
"""

import asyncio
import json
import time
from collections.abc import Mapping
from typing import Self, cast

import msgspec

from proofs.rig.patience import patience

HEAD_END = b"\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"
# No act of the proof makes a call wait nearly as long: whoever still waits then waits for ever.
HUNG_AFTER_SECONDS = 30.0
HERE = "127.0.0.1"
MODEL = "gpt-4o"
CHAT = json.dumps({"model": MODEL, "messages": [{"role": "user", "content": "Hello. [[tokens=4]]"}]}).encode()


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    status: int
    headers: Mapping[str, str]
    body: bytes
    # Unix seconds.
    sent_at: float
    seconds: float

    @property
    def heard_at(self) -> float:
        return self.sent_at + self.seconds

    @property
    def code(self) -> str:
        try:
            return str(json.loads(self.body)["error"]["code"])
        except (ValueError, KeyError, TypeError):
            return ""


def get(path: str, key: str, headers: Mapping[str, str] | None = None) -> bytes:
    """Without a key where it is empty."""
    known = {"Authorization": f"Bearer {key}"} if key else {}
    more = "".join(f"{name}: {value}\r\n" for name, value in (known | dict(headers or {})).items())
    return f"GET {path} HTTP/1.1\r\nHost: {HERE}\r\n{more}\r\n".encode()


def chat(key: str) -> bytes:
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: {HERE}\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(CHAT)}\r\n\r\n"
    )
    return head.encode() + CHAT


class Line(asyncio.Protocol):
    """One connection. It asks again only when its answer is over."""

    def __init__(self) -> None:
        self._received = b""
        self._over: asyncio.Future[bytes] | None = None

    @classmethod
    async def to(cls, port: int, *, from_ip: str = HERE) -> Self:
        loop = asyncio.get_running_loop()
        _, line = await loop.create_connection(cls, HERE, port, local_addr=(from_ip, 0))
        return line

    @property
    def local_port(self) -> int:
        port: int = self._transport.get_extra_info("sockname")[1]
        return port

    async def ask(self, asked: bytes) -> Reply:
        """Send a request and wait until its answer is over. Raise ConnectionError or TimeoutError where none comes."""
        if self._transport.is_closing():
            raise ConnectionError("the connection was closed")
        self._received = b""
        self._over = asyncio.get_running_loop().create_future()
        sent_at, begun = time.time(), time.perf_counter()
        self._transport.write(asked)
        async with asyncio.timeout(patience(HUNG_AFTER_SECONDS)):
            whole = await self._over
        head, _, body = whole.partition(HEAD_END)
        first, *others = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in others)}
        return Reply(
            status=int(first.split()[1]),
            headers=headers,
            body=body,
            sent_at=sent_at,
            seconds=time.perf_counter() - begun,
        )

    def close(self) -> None:
        self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        if self._over is not None and not self._over.done() and _is_whole(self._received):
            self._over.set_result(self._received)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._over is not None and not self._over.done():
            self._over.set_exception(ConnectionError(f"the connection was closed: {exc}"))


def _is_whole(received: bytes) -> bool:
    head, end, body = received.partition(HEAD_END)
    if not end:
        return False
    _, given, length = head.lower().partition(b"\r\ncontent-length:")
    if given:
        return len(body) >= int(length.split(b"\r\n")[0])
    return body.endswith(LAST_CHUNK)
