"""Answers on their way out, piece by piece: bytes as they come; or server-sent events, kept alive while nothing comes
and given up when nothing goes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from tollkeeper.core.calls.sse import KEEP_ALIVE
from tollkeeper.edge.http import asgi
from tollkeeper.edge.http.exchange import ANY_ORIGIN, Exchange, Header

# For the last bytes of a stream, and for a comment that is on its way.
LAST_WORDS_SECONDS = 5.0
# How often, within the time after which silence is broken, it is looked whether there is silence.
LOOKS = 4

EVENTS = "text/event-stream; charset=utf-8"
HEADERS: tuple[Header, ...] = (
    (b"cache-control", b"no-store"),
    # Proxies of the nginx family would otherwise gather pieces before they pass them on.
    (b"x-accel-buffering", b"no"),
    *ANY_ORIGIN,
)


class Outgoing:
    """Begins the response with its first bytes, so that what fails before them can still be told by status."""

    def __init__(self, exchange: Exchange) -> None:
        self.begun = False
        self.sent_bytes = 0
        self.content_type = EVENTS
        # Beside those that every such answer has.
        self.more_headers: tuple[Header, ...] = ()
        self._exchange = exchange
        self._sending = asyncio.Lock()

    async def write(self, piece: bytes, *, last: bool = False) -> None:
        async with self._sending:
            if not self.begun:
                self.begun = True
                own = (
                    (b"content-type", self.content_type.encode()),
                    *self._exchange.id_headers(),
                    *self._exchange.limit_headers(),
                    *self.more_headers,
                )
                await self._exchange.send(asgi.response_start(200, [*HEADERS, *own]))
            await self._exchange.send(asgi.response_body(piece, last=last))
            self.sent_bytes += len(piece)

    async def write_last(self, piece: bytes) -> None:
        """End the answer, unless its client does not take even that."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS_SECONDS):
                await self.write(piece, last=True)


class EventStream(Outgoing):
    def __init__(
        self, exchange: Exchange, *, keep_alive_seconds: float, stuck_seconds: float, keep_alive: bytes = KEEP_ALIVE
    ) -> None:
        """`keep_alive`: what says nothing in the caller's protocol."""
        super().__init__(exchange)
        self._keep_alive = keep_alive
        self._keep_alive_seconds = keep_alive_seconds
        self._stuck_seconds = stuck_seconds
        self._loop = asyncio.get_running_loop()
        self._quiet_since = self._loop.time()
        self._beat: asyncio.Task[None] | None = None

    async def write(self, piece: bytes, *, last: bool = False) -> None:
        await super().write(piece, last=last)
        self._quiet_since = self._loop.time()

    @asynccontextmanager
    async def kept_alive(self, give_up: Callable[[], None]) -> AsyncIterator[None]:
        """While this is open, a comment goes out whenever it was quiet for long. A client that takes nothing for very
        long is given up."""

        def look() -> None:
            quiet_seconds = self._loop.time() - self._quiet_since
            if quiet_seconds >= self._keep_alive_seconds and not self._sending.locked():
                self._beat = self._loop.create_task(self.write(self._keep_alive))
            elif quiet_seconds >= self._stuck_seconds:
                give_up()
            self._timer = self._loop.call_later(self._keep_alive_seconds / LOOKS, look)

        self._timer = self._loop.call_later(self._keep_alive_seconds, look)
        try:
            yield
        finally:
            self._timer.cancel()
            # What has begun to go out goes out before anything else does.
            if self._beat is not None:
                await asyncio.wait({self._beat}, timeout=LAST_WORDS_SECONDS)
