"""Request bodies: read whole, within bounds of size, time and what the process has in hand at once."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import TypeVar

import msgspec

from tollkeeper.core.errors import (
    BadRequest,
    BodyTooLarge,
    CompressedBody,
    MalformedBody,
    MalformedHeader,
    SlowBody,
    TooMuchInReading,
    UnexpectedBody,
)
from tollkeeper.edge.exchange import Exchange
from tollkeeper.steady import Within

Decoded = TypeVar("Decoded")

# How much of a refused body is taken, and for how long, before it is answered.
HEARD_OUT_BYTES_MOST = 32 * 1024 * 1024
HEARD_OUT_SECONDS = 2.0
SILENCE_SECONDS = 0.25
BODY_HEADERS = frozenset({b"content-length", b"transfer-encoding"})


class BodyReader:
    """Reads bodies for one worker process and keeps count of the bytes in hand."""

    def __init__(self, *, reading_bytes_most: int, seconds_most: float) -> None:
        self.seconds_most = seconds_most
        self._reading_bytes_most = reading_bytes_most
        self._reading_bytes = 0

    def kept(self, exchange: Exchange, *, limit_bytes: int) -> "KeptBody":
        """A body that is in hand from its first byte on, until it is let go: whatever comes of reading it."""
        return KeptBody(self, exchange, limit_bytes)

    @property
    def overfull(self) -> bool:
        return self._reading_bytes > self._reading_bytes_most

    def add(self, size_bytes: int) -> None:
        self._reading_bytes += size_bytes

    async def read(self, exchange: Exchange, *, limit_bytes: int) -> bytes:
        """The whole body."""
        kept = self.kept(exchange, limit_bytes=limit_bytes)
        try:
            return await kept.read()
        finally:
            kept.let_go()

    def refuse(self, exchange: Exchange) -> None:
        """Make sure that there is no body."""
        if _announced_bytes(exchange) or exchange.header(b"transfer-encoding"):
            raise UnexpectedBody


class KeptBody:
    """One body, counted for as long as somebody needs it."""

    def __init__(self, bodies: BodyReader, exchange: Exchange, limit_bytes: int) -> None:
        self._bodies = bodies
        self._exchange = exchange
        self._limit_bytes = limit_bytes
        self._size_bytes = 0

    async def read(self) -> bytes:
        taken = bytearray()
        await self.read_into(taken.extend)
        return bytes(taken)

    async def read_into(self, take: Callable[[bytes], None]) -> None:
        """Hand the body to `take`, piece by piece as it arrives; what `take` raises ends the reading.
        Too large is refused before it is read, where the length is announced."""
        if (self._exchange.header(b"content-encoding") or "identity") != "identity":
            raise CompressedBody
        if _announced_bytes(self._exchange) > self._limit_bytes:
            raise BodyTooLarge(self._limit_bytes)
        try:
            async with Within(self._bodies.seconds_most):
                while await self._read_piece(take):
                    pass
        except TimeoutError:
            raise SlowBody from None

    async def _read_piece(self, take: Callable[[bytes], None]) -> bool:
        """Whether there is more to come."""
        message = await self._exchange.receive()
        if message["type"] == "http.disconnect":
            raise BadRequest("The connection closed before the body was complete.")
        piece: bytes = message.get("body", b"")
        self._size_bytes += len(piece)
        self._bodies.add(len(piece))
        if self._size_bytes > self._limit_bytes:
            raise BodyTooLarge(self._limit_bytes)
        if self._bodies.overfull:
            raise TooMuchInReading
        self._exchange.heard_out = not message.get("more_body", False)
        take(piece)
        return not self._exchange.heard_out

    def let_go(self) -> None:
        self._bodies.add(-self._size_bytes)
        self._size_bytes = 0


def decode_json(body: bytes, into: type[Decoded]) -> Decoded:
    """The JSON of a body as `into`. What cannot be read, however oddly, is a malformed body."""
    try:
        return msgspec.json.decode(body, type=into)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise MalformedBody from None


async def hear_out(exchange: Exchange) -> None:
    """Take the rest of a body that was refused unread, for as long as it keeps coming: a client that is still sending
    when the connection ends would never see why."""
    if exchange.heard_out or not _sends_body(exchange):
        return
    left_bytes = HEARD_OUT_BYTES_MOST
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(HEARD_OUT_SECONDS):
            while left_bytes > 0 and not exchange.heard_out:
                async with asyncio.timeout(SILENCE_SECONDS):
                    message = await exchange.receive()
                left_bytes -= len(message.get("body", b""))
                exchange.heard_out = not message.get("more_body", False)


def _sends_body(exchange: Exchange) -> bool:
    """Without being asked to: who expects a word first would be told to begin."""
    return any(map(exchange.header_lines, BODY_HEADERS)) and not exchange.header_lines(b"expect")


def _announced_bytes(exchange: Exchange) -> int:
    announced = exchange.header(b"content-length")
    if announced is None:
        return 0
    if not announced.isdigit():
        raise MalformedHeader("The header 'content-length' must be a whole number.")
    return int(announced)
