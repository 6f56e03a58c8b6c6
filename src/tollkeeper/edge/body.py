"""Request bodies: read whole, within bounds of size, time and what the process has in hand at once."""

import asyncio
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

Decoded = TypeVar("Decoded")


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
            async with asyncio.timeout(self._bodies.seconds_most):
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
        take(piece)
        return bool(message.get("more_body", False))

    def let_go(self) -> None:
        self._bodies.add(-self._size_bytes)
        self._size_bytes = 0


def decode_json(body: bytes, into: type[Decoded]) -> Decoded:
    """The JSON of a body as `into`. What cannot be read, however oddly, is a malformed body."""
    try:
        return msgspec.json.decode(body, type=into)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise MalformedBody from None


def _announced_bytes(exchange: Exchange) -> int:
    announced = exchange.header(b"content-length")
    if announced is None:
        return 0
    if not announced.isdigit():
        raise MalformedHeader("The header 'content-length' must be a whole number.")
    return int(announced)
