"""The port of one worker process: takes connections, and lets go of those that nobody uses.

Rules of this file
1. All workers of a node take connections from one socket, each one at a time: who is busy takes fewer. A worker that
   follows another finds what came meanwhile; nobody was refused.
2. A connection without a call is closed after `idle_seconds`. When more than half of the places are taken it is closed
   sooner, the sooner the fuller: half a request a connection would keep callers out (slowloris). What such connections
   keep in memory counts as room, too.
3. A connection with a call under way is never closed here, however slow.
4. Where all places are taken, the one that was without a call for longest goes, unless it has just sent something: it
   would be reset, and that may be a whole request. Who came, or was answered, within `NEW_SECONDS` goes after those who
   owe the rest of a request and have been silent for `AWAITED_SECONDS`. Without any of these, newcomers wait until
   somebody leaves, or another worker takes them.
5. A connection that is only to come to its end, and whose client takes nothing of that for `STUCK_SECONDS`, is broken
   off; where newcomers wait, after `CROWDED_STUCK_SECONDS` in which it took little. What the kernel has to send counts,
   too. Where all of them keep more than `HELD_BYTES_MOST`, those that have been at it for longest go.
6. A listener that is closed hangs up whoever is between requests, `KEPT_SECONDS` after the last answer: who sends the
   next request at once is still served. Who has yet to send the first one, or the rest of one, has `HEAD_SECONDS`. It
   takes those that wait in the kernel's queue, as far as it has places.
"""

import asyncio
import itertools
import logging
import math
import socket
from collections.abc import Awaitable, Callable, Iterator
from typing import Final

import msgspec

from tollkeeper.server.application import HttpRequest, NotBegun
from tollkeeper.server.connection import CallerConnection
from tollkeeper.server.cycle import Cycle

LOOK_SECONDS: Final = 1.0
SECONDS_LEAST: Final = 1.0
# Callers far away need so long for the next request, at most.
KEPT_SECONDS: Final = 1.0
HEAD_SECONDS: Final = 5.0
STUCK_SECONDS: Final = 30.0
CROWDED_STUCK_SECONDS: Final = 10.0
# A telephone far away takes as much in that time.
CROWDED_TAKEN_BYTES_LEAST: Final = 64 * 1024
AWAITED_SECONDS: Final = 5.0
# Its first request is on its way.
NEW_SECONDS: Final = 1.0
# Of connections without a call, and of those that come to their end: what was sent and nobody has read yet.
HELD_BYTES_MOST: Final = 128 * 1024 * 1024
# For one that may make room: each look at one asks the kernel.
LOOKS_MOST: Final = 8
LOOK_AGAIN_SECONDS: Final = 0.05
# Without a descriptor to spare, the next connection waits.
OUT_OF_DESCRIPTORS_SECONDS: Final = 0.1

log = logging.getLogger(__name__)


class ConnectionLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How many connections a worker process has places for, and how long they may be without a call."""

    connections: int
    # How long one may be without a call; and when half of the places are taken.
    idle_seconds: float
    crowded_idle_seconds: float


class Parting(msgspec.Struct, kw_only=True):
    """How the client of a connection that comes to its end takes the rest: what was left of it, and since when."""

    begun: float
    unsent_bytes: int
    since: float


class Listener:
    def __init__(self, answer: Callable[[HttpRequest], Awaitable[None]], limits: ConnectionLimits) -> None:
        self.is_closed = False
        self._answer = answer
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._socket: socket.socket | None = None
        self._closed_at = math.inf
        # Whether newcomers wait for a place.
        self._is_full = False
        self._open: set[CallerConnection] = set()
        # Those of them that only come to their end: how their clients take it. Who began first comes first.
        self._leaving: dict[CallerConnection, Parting] = {}
        # Those without a call, and since when: the one that has been so for longest comes first.
        self._idle: dict[CallerConnection, float] = {}
        # Those with a call that is not whole, and when something came last: the one that is silent for longest first.
        self._awaited: dict[CallerConnection, float] = {}
        # Requests that the application has not done with.
        self._cycles: set[Cycle] = set()
        # Those that were taken and have yet to be made, and what makes them.
        self._coming: set[CallerConnection] = set()
        self._connecting: set[asyncio.Task[None]] = set()

    def begin(self, listening: socket.socket) -> None:
        """Take connections from a socket that is bound. Raise NotBegun."""
        listening.setblocking(False)
        try:
            listening.listen(socket.SOMAXCONN)
        except OSError as problem:
            # Whoever bound it as well was faster.
            log.error("port %d cannot be opened: %s", listening.getsockname()[1], problem.strerror)
            raise NotBegun from None
        self._socket = listening
        self._loop.add_reader(listening, self._take)
        self._loop.call_later(LOOK_SECONDS, self._look)

    async def close(self) -> None:
        """Take no connections any more, and wait until all are over."""
        listening, self._socket, self.is_closed = self._socket, None, True
        self._closed_at = self._loop.time()
        if listening is not None:
            self._loop.remove_reader(listening)
            # Those that have come were promised an answer by the kernel.
            while self._has_room() and self._accept(listening):
                pass
            listening.close()
        while self._cycles or self._connecting or self._open:
            self._retire()
            await asyncio.sleep(LOOK_AGAIN_SECONDS)

    def abort(self) -> None:
        """Break off what is open."""
        if self._open:
            log.warning("%d clients do not take the end of their answers; nobody waits for them", len(self._open))
        for connection in list(self._open):
            connection.abort()

    def run(self, cycle: Cycle) -> None:
        """Let the application answer a request. The loop itself keeps only weak references to tasks."""
        self._cycles.add(cycle)
        cycle.task = self._loop.create_task(self._run(cycle))

    async def _run(self, cycle: Cycle) -> None:
        try:
            await cycle.run(self._answer)
        finally:
            self._cycles.discard(cycle)

    def enter(self, connection: CallerConnection) -> None:
        """A connection was made."""
        self._coming.discard(connection)
        self._open.add(connection)
        self._idle[connection] = self._loop.time()

    def leave(self, connection: CallerConnection) -> None:
        self._open.discard(connection)
        self._leaving.pop(connection, None)
        self.note_busy(connection)
        self._note_room()

    def note_leaving(self, connection: CallerConnection) -> None:
        """It takes no further request."""
        now = self._loop.time()
        self._leaving[connection] = Parting(begun=now, unsent_bytes=connection.unsent_bytes, since=now)
        self.note_busy(connection)

    def note_idle(self, connection: CallerConnection) -> None:
        self.note_busy(connection)
        self._idle[connection] = self._loop.time()
        self._note_room()

    def note_awaited(self, connection: CallerConnection) -> None:
        """More of its request is to come."""
        self.note_busy(connection)
        self._awaited[connection] = self._loop.time()

    def note_busy(self, connection: CallerConnection) -> None:
        """Nothing is expected of it."""
        self._idle.pop(connection, None)
        self._awaited.pop(connection, None)

    def _take(self) -> None:
        if self._socket is None:
            return
        if self._has_room():
            self._accept(self._socket)
        elif not self._idle:
            self._is_full = True
            self._loop.remove_reader(self._socket)
        # Otherwise it is asked again in the next turn, when what has come was read.

    def _has_room(self) -> bool:
        """Whether there is a place for one more. Who is needed least makes room."""
        while len(self._open) + len(self._coming) >= self._limits.connections:
            first = itertools.islice(self._needed_least(), LOOKS_MOST)
            oldest = next((each for each in first if not each.is_to_be_read), None)
            if oldest is None:
                return False
            oldest.expire()
            if not oldest.unwritten_bytes:
                # It is told in the loop's next turn that it is gone.
                self._open.discard(oldest)
        return True

    def _needed_least(self) -> Iterator[CallerConnection]:
        """Connections that may make room: the first before the next."""
        now = self._loop.time()
        yield from itertools.takewhile(lambda each: self._idle[each] <= now - NEW_SECONDS, self._idle)
        silent = itertools.takewhile(lambda each: self._awaited[each] <= now - AWAITED_SECONDS, self._awaited)
        yield from (each for each in silent if not each.waits_for_a_word)
        yield from (each for each, since in self._idle.items() if since > now - NEW_SECONDS)

    def _note_room(self) -> None:
        if self._is_full:
            self._is_full = False
            self._take_again()

    def _accept(self, listening: socket.socket) -> bool:
        """Take one connection. Whether there was any."""
        try:
            made, (host, port, *_) = listening.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return False
        except OSError as problem:
            log.error("a connection cannot be taken: %s", problem.strerror)
            self._loop.remove_reader(listening)
            self._loop.call_later(OUT_OF_DESCRIPTORS_SECONDS, self._take_again)
            return False
        # The peer as it is now: who has reset the connection since has none.
        coming = CallerConnection(self, self._loop, (host, port))
        self._coming.add(coming)
        connecting = self._loop.create_task(self._connect(made, coming))
        self._connecting.add(connecting)
        connecting.add_done_callback(self._connecting.discard)
        return True

    def _take_again(self) -> None:
        if self._socket is not None:
            self._loop.add_reader(self._socket, self._take)

    async def _connect(self, made: socket.socket, coming: CallerConnection) -> None:
        try:
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await self._loop.connect_accepted_socket(lambda: coming, made)
        except OSError:
            # It is gone already.
            made.close()
        finally:
            self._coming.discard(coming)

    def _look(self) -> None:
        held_bytes = sum(each.held_bytes for each in itertools.chain(self._idle, self._leaving))
        free = 1 - max(len(self._open) / self._limits.connections, held_bytes / HELD_BYTES_MOST)
        seconds = self._limits.idle_seconds
        if free < 0.5:
            seconds = min(seconds, max(SECONDS_LEAST, 2 * free * self._limits.crowded_idle_seconds))
        oldest = self._loop.time() - seconds
        for connection, since in list(self._idle.items()):
            if since > oldest:
                break
            connection.expire()
        self._break_off_stuck(held_bytes)
        self._note_room()
        self._loop.call_later(LOOK_SECONDS, self._look)

    def _break_off_stuck(self, held_bytes: int) -> None:
        now = self._loop.time()
        seconds, least = (CROWDED_STUCK_SECONDS, CROWDED_TAKEN_BYTES_LEAST) if self._is_full else (STUCK_SECONDS, 1)
        for connection, parting in list(self._leaving.items()):
            if held_bytes > HELD_BYTES_MOST and now - parting.begun >= CROWDED_STUCK_SECONDS:
                held_bytes -= connection.held_bytes
                connection.abort()
            elif parting.unsent_bytes - connection.unsent_bytes >= least:
                parting.unsent_bytes, parting.since = connection.unsent_bytes, now
            elif now - parting.since >= seconds:
                connection.abort()

    def _retire(self) -> None:
        now = self._loop.time()
        for connection, since in list(self._idle.items()):
            kept_seconds = KEPT_SECONDS if connection.has_asked else HEAD_SECONDS
            if now - since >= kept_seconds and connection.is_between:
                connection.close()
            elif now - self._closed_at >= HEAD_SECONDS and connection.has_begun:
                connection.expire()
