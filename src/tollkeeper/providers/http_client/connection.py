"""One connection to a provider: what has come of the answer that is under way, and who waits for more of it.

Rules of this file
1. What a provider sends is bounded: a head, a trailer or framing without any body by `FRAMING_BYTES_MOST`, what
   nobody has read yet by `AHEAD_BYTES_MOST` and one reading more.
2. Whatever comes beyond the answer that was asked for is read by nobody, and its connection serves no other call.
3. Whoever waits for more may have what comes at once, without being woken (`pass_by`). What they do not take waits for
   them to read, and so does all that comes behind it.
"""

import asyncio
from collections.abc import Callable
from typing import Final, cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from tollkeeper.ports import Failure
from tollkeeper.providers.http_client.target import Destination

FRAMING_BYTES_MOST: Final = 64 * 1024
# A reader who is so far behind holds the provider back. What waits for a slow one is several times as much: a piece on
# its way to the server, and what that has not sent yet.
AHEAD_BYTES_MOST: Final = 32 * 1024
# As much is read at once: of a provider that is ahead, the kernel would have a quarter of a megabyte.
READ_BYTES: Final = 32 * 1024
# One small write is cheaper than two; a large body is not copied.
JOINED_BYTES_MOST: Final = 64 * 1024
# Answers that have no body, whatever their headers say.
BODILESS: Final = frozenset({204, 304})


class Connection(asyncio.BufferedProtocol):
    __slots__ = (
        *(
            "_ahead_bytes",
            "_buffer",
            "_ends_with_connection",
            "_framing_bytes",
            "_is_paused",
            "_loop",
            "_on_lost",
            "_parser",
            "_patience_seconds",
        ),
        *("_persists", "_pieces", "_take_now", "_transport", "_waiter", "deadline", "destination", "failure"),
        *("headers", "is_lost", "is_over", "kept_since", "status", "was_kept"),
    )

    def __init__(
        self,
        destination: Destination,
        on_lost: Callable[["Connection"], None],
        loop: asyncio.AbstractEventLoop,
        buffer: memoryview,
    ) -> None:
        """`buffer`: where the loop puts what it reads. All connections of a loop may have the same: what came is taken
        out of it before anything else is read."""
        self.destination = destination
        self._buffer = buffer
        self._on_lost = on_lost
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._is_paused = False
        self.is_lost = False
        self.was_kept = False
        self.kept_since = 0.0
        # When a wait on it has taken too long, by the loop's clock.
        self.deadline = 0.0
        # Has what comes while somebody waits, if it takes it; and how long they wait on after that.
        self._take_now: Callable[[bytes], bool] | None = None
        self._patience_seconds = 0.0
        self._begin()

    def _begin(self) -> None:
        self._parser = HttpResponseParser(self)
        # Of this answer alone, whatever the connection serves next.
        self.headers: dict[bytes, bytes] = {}
        self._pieces: list[bytes] = []
        self._ahead_bytes = 0
        self._framing_bytes = 0
        self._ends_with_connection = False
        self._persists = False
        # 0 until the head of the answer is here.
        self.status = 0
        self.is_over = False
        self.failure: Failure | None = None

    # What calls ask of it

    def ask(self, head: bytes, body: bytes) -> None:
        """Send a request: from now on an answer is expected."""
        self._begin()
        transport = cast(asyncio.Transport, self._transport)
        if len(body) <= JOINED_BYTES_MOST:
            transport.write(head + body)
        else:
            transport.writelines((head, body))

    def now(self) -> float:
        return self._loop.time()

    def changed(self) -> asyncio.Future[None]:
        """Done when something has changed: more came, or it is over, one way or the other."""
        self._waiter = self._loop.create_future()
        return self._waiter

    def take(self) -> bytes:
        """What came since the last time; b"" where nothing did."""
        pieces = self._pieces
        if not pieces:
            return b""
        piece = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        pieces.clear()
        self._ahead_bytes = 0
        if self._is_paused and not self.is_lost:
            self._is_paused = False
            cast(asyncio.Transport, self._transport).resume_reading()
        return piece

    def pass_by(self, take: Callable[[bytes], bool], patience_seconds: float) -> None:
        """Offer `take` what comes while somebody waits for it, until `forget_reader`."""
        self._take_now, self._patience_seconds = take, patience_seconds

    def forget_reader(self) -> None:
        self._take_now = None

    def fail(self, failure: Failure) -> None:
        """What came before can still be taken."""
        if self.failure is None:
            self.failure = failure
        self._hang_up()
        self._wake()

    def abort(self) -> None:
        """Be done with it, whatever is yet to come or to be read."""
        self._pieces.clear()
        self._hang_up()

    def _hang_up(self) -> None:
        self._persists = False
        if self._transport is not None and not self.is_lost:
            self._transport.abort()

    @property
    def is_waited_for(self) -> bool:
        return self._waiter is not None

    @property
    def is_read_to_its_end(self) -> bool:
        return self.is_over and not self._pieces

    @property
    def can_serve_another(self) -> bool:
        return self._persists and self.is_read_to_its_end and self.is_usable

    @property
    def is_usable(self) -> bool:
        return self._transport is not None and not self.is_lost and not self._transport.is_closing()

    @property
    def may_be_asked_again(self) -> bool:
        """Whether what was asked was certainly not answered: it went out on a kept connection that just closed."""
        nothing_came = not self.status and not self._framing_bytes
        return self.was_kept and nothing_came and self.failure is Failure.BROKEN

    # What the event loop tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def get_buffer(self, _: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, size: int) -> None:
        self._framing_bytes += size
        had_begun = bool(self.status)
        try:
            self._parser.feed_data(self._buffer[:size])
        except (HttpParserError, HttpParserUpgrade):
            if not self.is_over:
                return self.fail(Failure.BROKEN)
            self._hang_up()
        if self._framing_bytes > FRAMING_BYTES_MOST and not self.is_over:
            return self.fail(Failure.BROKEN)
        if self._ahead_bytes > AHEAD_BYTES_MOST and not self._is_paused:
            self._is_paused = True
            cast(asyncio.Transport, self._transport).pause_reading()
        if self._pieces or self.is_over or (self.status and not had_begun):
            self._wake()
        return None

    def connection_lost(self, problem: Exception | None) -> None:
        self.is_lost = True
        if not self.is_over and self.failure is None:
            if self.status and self._ends_with_connection and problem is None:
                self.is_over = True
            else:
                self.failure = Failure.BROKEN
        self._wake()
        self._on_lost(self)

    # What the parser tells

    def on_message_begin(self) -> None:
        if self.is_over:
            raise ValueError("nobody asked for another answer")

    def on_header(self, name: bytes, value: bytes) -> None:
        # Trailers come this way, too: nobody asks for them.
        if not self.status:
            # The first of its name counts.
            self.headers.setdefault(name.lower(), value)

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 100:
            raise ValueError("there is no such status")
        if status < 200:
            # "Go on", "early hints" and the like: the answer is yet to come.
            self.headers.clear()
            return
        self.status = status
        headers = self.headers
        is_chunked = headers.get(b"transfer-encoding", b"").lower().endswith(b"chunked")
        self._ends_with_connection = not (b"content-length" in headers or is_chunked or status in BODILESS)

    def on_body(self, piece: bytes) -> None:
        if not self.status:
            raise ValueError("what is yet to come has no body")
        self._framing_bytes = 0
        take = self._take_now
        if take is not None and self._waiter is not None and not self._pieces and take(piece):
            self.deadline = self._loop.time() + self._patience_seconds
            return
        self._pieces.append(piece)
        self._ahead_bytes += len(piece)

    def on_message_complete(self) -> None:
        if self.status:
            self.is_over = True
            self._persists = self._parser.should_keep_alive()

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)
