"""Request bodies: read whole, within bounds of size, speed and what the process has in hand at once.

Rules of this file
1. The beginning of every body is free: what bounds the bytes in hand never stands against an ordinary call.
2. When half of what a process may have in hand is taken, no account and no IP gets more than a quarter of it, or than
   one body where that is more.
3. A body comes at some least speed, or is given up.
4. A large one is read only for whoever could pay for it.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import TypeVar

import msgspec

from tollkeeper.core.calls.malformed import malformed
from tollkeeper.core.errors import (
    BadRequest,
    BodyTooLarge,
    CompressedBody,
    MalformedHeader,
    SlowBody,
    TooMuchInReading,
    UnexpectedBody,
)
from tollkeeper.edge.http.exchange import Exchange
from tollkeeper.server.application import CallerGone
from tollkeeper.steady import Timeout

Decoded = TypeVar("Decoded")

# How much of a refused body is taken, and for how long, before it is answered.
# Of a body's length in its header: Python refuses to read numbers of thousands of digits, and nobody has such a body.
LENGTH_DIGITS_MOST = 18
DRAINED_BYTES_MOST = 32 * 1024 * 1024
DRAINED_SECONDS = 2.0
SILENCE_SECONDS = 0.25
# The largest there is.
ONE_BODY_BYTES = 32 * 1024 * 1024
# What of each body is not counted among the bytes in hand.
FREE_BYTES = 64 * 1024
# Before a body is taken that is larger than this, its sender's quota is looked at.
LARGE_BYTES = 1024 * 1024
# So often it is looked how much has come; slower than this is too slow, whatever came before.
LOOK_SECONDS = 10.0
LEAST_BYTES_PER_SECOND = 8 * 1024
BODY_HEADERS = frozenset({b"content-length", b"transfer-encoding"})


CanPay = Callable[[], Awaitable[None]]


async def _nobody_asks() -> None:
    """What is not relayed is not paid for."""


class BodyReader:
    """Reads bodies for one worker process and keeps count of the bytes in hand."""

    def __init__(
        self, *, reading_bytes_most: int, seconds_most: float, share_bytes_least: int = ONE_BODY_BYTES
    ) -> None:
        self.seconds_most = seconds_most
        self._share_bytes = max(reading_bytes_most // 4, share_bytes_least)
        self._reading_bytes_most = reading_bytes_most
        self._reading_bytes = 0
        self._by_owner: Counter[Hashable] = Counter()

    def kept(self, exchange: Exchange, *, limit_bytes: int, can_pay: CanPay = _nobody_asks) -> "KeptBody":
        """A body that is in hand from its first byte on, until it is let go: whatever comes of reading it. `can_pay` is
        asked before a large one is taken, and raises what stands against that."""
        return KeptBody(self, exchange, limit_bytes, can_pay)

    def add(self, size_bytes: int, owners: Sequence[Hashable]) -> None:
        """So many more bytes in hand, or fewer, that all of the `owners` answer for."""
        self._reading_bytes += size_bytes
        for owner in owners:
            self._by_owner[owner] += size_bytes
            if not self._by_owner[owner]:
                del self._by_owner[owner]

    def is_too_much(self, owners: Sequence[Hashable]) -> bool:
        """Whether there is no room any more, or none that they have not had their share of."""
        if self._reading_bytes <= self._reading_bytes_most // 2:
            return False
        had_their_share = any(self._by_owner[owner] > self._share_bytes for owner in owners)
        return had_their_share or self._reading_bytes > self._reading_bytes_most

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

    def __init__(self, bodies: BodyReader, exchange: Exchange, limit_bytes: int, can_pay: CanPay) -> None:
        self._bodies = bodies
        self._exchange = exchange
        self._limit_bytes = limit_bytes
        self._can_pay = can_pay
        self._is_paid_for = False
        self._is_large = False
        self._owners: Sequence[Hashable] = ()
        self._size_bytes = 0
        self._seen_bytes = 0
        self._begun = 0.0

    async def read(self) -> bytes:
        pieces: list[bytes] = []
        await self.read_into(pieces.append)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def read_into(self, take: Callable[[bytes], None]) -> None:
        """Hand the body to `take`, piece by piece as it arrives; what `take` raises ends the reading.
        Too large is refused before it is read, where the length is announced."""
        exchange = self._exchange
        if (exchange.header(b"content-encoding") or "identity") != "identity":
            raise CompressedBody
        announced_bytes = _announced_bytes(exchange)
        if announced_bytes > self._limit_bytes:
            raise BodyTooLarge(self._limit_bytes)
        if announced_bytes > LARGE_BYTES:
            await self._ask_for_payment()
        whole = exchange.http.whole_body()
        if whole is None:
            self._is_large = announced_bytes > FREE_BYTES
            await self._read_pieces(take)
            return
        # Most have come with their heads.
        if self._note(whole):
            await self._ask_for_payment()
        take(whole)

    async def _read_pieces(self, take: Callable[[bytes], None]) -> None:
        request = self._exchange.http
        self._begun = asyncio.get_running_loop().time()
        try:
            async with Timeout(min(LOOK_SECONDS, self._bodies.seconds_most), self._seconds_more):
                while not request.is_read:
                    piece = await request.read()
                    if self._note(piece):
                        await self._ask_for_payment()
                    take(piece)
        except TimeoutError:
            raise SlowBody from None
        except CallerGone:
            raise BadRequest("The connection closed before the body was complete.") from None

    def _note(self, piece: bytes) -> bool:
        """Count a piece, and see whether it may be taken. Whether the body must be paid for before it is."""
        before_bytes, self._size_bytes = self._size_bytes, self._size_bytes + len(piece)
        if self._size_bytes > self._limit_bytes:
            self._size_bytes = before_bytes
            raise BodyTooLarge(self._limit_bytes)
        if self._size_bytes > FREE_BYTES:
            self._is_large = True
            self._owners = self._owners or _owners(self._exchange)
            self._bodies.add(_counted_bytes(self._size_bytes) - _counted_bytes(before_bytes), self._owners)
            if self._bodies.is_too_much(self._owners):
                raise TooMuchInReading
        return self._size_bytes > LARGE_BYTES

    async def _ask_for_payment(self) -> None:
        """Once for a large body."""
        if not self._is_paid_for:
            self._is_paid_for = True
            await self._can_pay()

    def _seconds_more(self) -> float:
        """Until it is looked again; 0 where too little has come since the last time, or time is over. A small body
        takes no room from others, and may take its time."""
        come_bytes, self._seen_bytes = self._size_bytes - self._seen_bytes, self._size_bytes
        if self._is_large and come_bytes < LOOK_SECONDS * LEAST_BYTES_PER_SECOND:
            return 0.0
        left_seconds = self._begun + self._bodies.seconds_most - asyncio.get_running_loop().time()
        return min(LOOK_SECONDS, left_seconds)

    def let_go(self) -> None:
        if self._size_bytes > FREE_BYTES:
            self._bodies.add(-_counted_bytes(self._size_bytes), self._owners)
        self._size_bytes = 0


def decode_json(body: bytes, into: type[Decoded]) -> Decoded:
    """The JSON of a body as `into`. What cannot be read, however oddly, is a malformed body."""
    try:
        return msgspec.json.decode(body, type=into)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise malformed(body) from None


async def drain(exchange: Exchange) -> None:
    """Take the rest of a body that was refused unread, for as long as it keeps coming: a client that is still sending
    when the connection ends would never see why."""
    request = exchange.http
    if request.is_read or not _sends_body(exchange):
        return
    left_bytes = DRAINED_BYTES_MOST
    with contextlib.suppress(TimeoutError, CallerGone):
        async with asyncio.timeout(DRAINED_SECONDS):
            while left_bytes > 0 and not request.is_read:
                async with asyncio.timeout(SILENCE_SECONDS):
                    left_bytes -= len(await request.read())


def _counted_bytes(size_bytes: int) -> int:
    return max(0, size_bytes - FREE_BYTES)


def _owners(exchange: Exchange) -> Sequence[Hashable]:
    """Who answers for a body: the account whose key came with it, and the IP it came from, unless that is our own
    proxy."""
    account = () if exchange.caller is None else (exchange.caller.account_id,)
    return (*account, exchange.ip) if exchange.ip else account


def _sends_body(exchange: Exchange) -> bool:
    """Without being asked to: who expects a word first would be told to begin."""
    return any(map(exchange.header_lines, BODY_HEADERS)) and not exchange.header_lines(b"expect")


def _announced_bytes(exchange: Exchange) -> int:
    announced = exchange.header(b"content-length")
    if announced is None:
        return 0
    if not announced.isdigit() or len(announced) > LENGTH_DIGITS_MOST:
        raise MalformedHeader("The header 'content-length' must be a whole number.")
    return int(announced)
