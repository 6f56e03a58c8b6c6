"""Request bodies: read whole, within bounds of size, time and what the process has in hand at once."""

import asyncio
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
        self._reading_bytes_most = reading_bytes_most
        self._seconds_most = seconds_most
        self._reading_bytes = 0

    def kept(self, exchange: Exchange, *, limit_bytes: int) -> "KeptBody":
        """A body that stays in hand after it was read, until it is let go."""
        return KeptBody(self, exchange, limit_bytes)

    def add(self, size_bytes: int) -> None:
        self._reading_bytes += size_bytes

    async def read(self, exchange: Exchange, *, limit_bytes: int) -> bytes:
        """The whole body. Too large is refused before it is read, where the length is announced."""
        if (exchange.header(b"content-encoding") or "identity") != "identity":
            raise CompressedBody
        if _announced_bytes(exchange) > limit_bytes:
            raise BodyTooLarge(limit_bytes)
        taken = bytearray()
        try:
            async with asyncio.timeout(self._seconds_most):
                await self._collect(exchange, taken, limit_bytes)
        except TimeoutError:
            raise SlowBody from None
        finally:
            self._reading_bytes -= len(taken)
        return bytes(taken)

    def refuse(self, exchange: Exchange) -> None:
        """Make sure that there is no body."""
        if _announced_bytes(exchange) or exchange.header(b"transfer-encoding"):
            raise UnexpectedBody

    async def _collect(self, exchange: Exchange, taken: bytearray, limit_bytes: int) -> None:
        while True:
            message = await exchange.receive()
            if message["type"] == "http.disconnect":
                raise BadRequest("The connection closed before the body was complete.")
            part: bytes = message.get("body", b"")
            taken += part
            self._reading_bytes += len(part)
            if len(taken) > limit_bytes:
                raise BodyTooLarge(limit_bytes)
            if self._reading_bytes > self._reading_bytes_most:
                raise TooMuchInReading
            if not message.get("more_body", False):
                return


class KeptBody:
    """One body, counted for as long as somebody needs it."""

    def __init__(self, bodies: BodyReader, exchange: Exchange, limit_bytes: int) -> None:
        self._bodies = bodies
        self._exchange = exchange
        self._limit_bytes = limit_bytes
        self._size_bytes = 0

    async def read(self) -> bytes:
        body = await self._bodies.read(self._exchange, limit_bytes=self._limit_bytes)
        self._size_bytes = len(body)
        self._bodies.add(self._size_bytes)
        return body

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
