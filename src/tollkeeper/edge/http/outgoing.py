"""Answers on their way out, piece by piece: bytes as they come; or server-sent events, kept alive while nothing comes
and given up when nothing goes."""

import asyncio
from collections.abc import Callable
from typing import Self

from tollkeeper.core.calls.sse import KEEP_ALIVE
from tollkeeper.edge.http.exchange import ANY_ORIGIN, Exchange
from tollkeeper.server.application import Header, ignore
from tollkeeper.steady import Alarm, later

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

    def __init__(
        self, exchange: Exchange, *, keep_alive_seconds: float, stuck_seconds: float, keep_alive: bytes = KEEP_ALIVE
    ) -> None:
        """`keep_alive`: what says nothing in the caller's protocol."""
        self.begun = False
        self.sent_bytes = 0
        self.content_type = EVENTS
        # Beside those that every such answer has.
        self.more_headers: tuple[Header, ...] = ()
        self._exchange = exchange
        self._request = exchange.http
        self._keep_alive = keep_alive
        self._keep_alive_seconds = keep_alive_seconds
        self._stuck_seconds = stuck_seconds
        self._loop = asyncio.get_running_loop()
        self._quiet_since = self._loop.time()

    async def write(self, piece: bytes) -> None:
        self._put(piece)
        if self._request.is_full:
            await self._request.drained()
            self._quiet_since = self._loop.time()

    def put(self, piece: bytes) -> bool:
        """Send it now, if its client has room for it. Whether it went."""
        has_room = self.begun and not self._request.is_full
        if has_room:
            self._put(piece)
        return has_room

    def write_last(self, piece: bytes) -> None:
        """End the answer. Nobody waits for its client to take it."""
        self._put(piece, is_last=True)

    def kept_alive(self, give_up: Callable[[], None]) -> "KeptAlive":
        """While this is open, a comment goes out whenever it was quiet for long. A client that takes nothing for very
        long is given up."""
        return KeptAlive(self, give_up)

    def break_silence(self) -> bool:
        """Send a comment where it was quiet for long. Whether the client has taken nothing for very long."""
        quiet_seconds = self._loop.time() - self._quiet_since
        if quiet_seconds >= self._keep_alive_seconds and not self._request.is_full:
            self._put(self._keep_alive)
            return False
        return quiet_seconds >= self._stuck_seconds

    def _put(self, piece: bytes, *, is_last: bool = False) -> None:
        if not self.begun:
            self.begun = True
            own = (
                (b"content-type", self.content_type.encode()),
                *self._exchange.id_headers(),
                *self._exchange.limit_headers(),
                *self.more_headers,
            )
            self._request.begin(200, [*HEADERS, *own])
        self._request.write(piece, is_last=is_last)
        self.sent_bytes += len(piece)
        self._quiet_since = self._loop.time()

    @property
    def looks_every_seconds(self) -> float:
        return self._keep_alive_seconds / LOOKS


class KeptAlive:
    __slots__ = ("_alarm", "_give_up", "_outgoing")

    def __init__(self, outgoing: Outgoing, give_up: Callable[[], None]) -> None:
        self._outgoing = outgoing
        self._give_up = give_up
        self._alarm: Alarm | None = None

    def __enter__(self) -> Self:
        self._alarm = later(LOOKS * self._outgoing.looks_every_seconds, self._look)
        return self

    def __exit__(self, *_: object) -> None:
        self._give_up = ignore
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _look(self) -> None:
        if self._outgoing.break_silence():
            self._give_up()
        if self._alarm is not None:
            self._alarm = later(self._outgoing.looks_every_seconds, self._look)
