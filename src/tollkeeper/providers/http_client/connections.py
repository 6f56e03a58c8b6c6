"""The connections of a client: those that are kept for the next call, and one timer for all that wait.

A timer of its own for every read would double the cost of a read.
"""

import asyncio
from collections import defaultdict
from typing import Final

from tollkeeper.ports import Failure
from tollkeeper.providers.http_client.connection import READ_BYTES, Connection
from tollkeeper.providers.http_client.target import Destination

# Less than providers keep a connection without traffic, so that it is mostly we who let go of it.
KEPT_SECONDS: Final = 15.0
# How often it is looked, at the least, while anything is there to be looked at.
LOOK_SECONDS: Final = 1.0


class Connections:
    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._busy: set[Connection] = set()
        # The one that was given back last is at the end, and goes first.
        self._kept: defaultdict[Destination, list[Connection]] = defaultdict(list)
        self._timer: asyncio.TimerHandle | None = None
        self._looks_at = 0.0
        self._is_closed = False
        self._buffer = memoryview(bytearray(READ_BYTES))

    def new(self, destination: Destination) -> Connection:
        """One that is to be opened."""
        return Connection(destination, self.forget, self._loop, self._buffer)

    def kept(self, destination: Destination) -> Connection | None:
        """One that has served before, if there is one."""
        waiting = self._kept[destination]
        while waiting:
            connection = waiting.pop()
            if connection.can_serve_another:
                connection.was_kept = True
                return connection
            connection.abort()
        return None

    async def wait(self, connection: Connection, deadline: float) -> None:
        """For more on this one; it fails where nothing came by then."""
        connection.deadline = deadline
        self._busy.add(connection)
        if self._timer is None or deadline < self._looks_at:
            self._look_by(deadline)
        try:
            await connection.changed()
        except asyncio.CancelledError:
            self.drop(connection)
            raise

    def give_back(self, connection: Connection) -> None:
        """Nobody reads from it any more."""
        connection.forget_reader()
        if self._is_closed or not connection.can_serve_another:
            return self.drop(connection)
        self._busy.discard(connection)
        connection.kept_since = self._loop.time()
        self._kept[connection.destination].append(connection)
        if self._timer is None:
            self._look_by(connection.kept_since + LOOK_SECONDS)
        return None

    def drop(self, connection: Connection) -> None:
        self._busy.discard(connection)
        connection.abort()

    def forget(self, connection: Connection) -> None:
        """It is closed."""
        waiting = self._kept.get(connection.destination)
        if waiting and connection in waiting:
            waiting.remove(connection)

    def close(self) -> None:
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        for connection in (*self._busy, *(each for waiting in self._kept.values() for each in waiting)):
            connection.fail(Failure.BROKEN)
        self._busy.clear()
        self._kept.clear()

    def _look_by(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._looks_at = min(at, self._loop.time() + LOOK_SECONDS)
        self._timer = self._loop.call_at(self._looks_at, self._look)

    def _look(self) -> None:
        self._timer = None
        now = self._loop.time()
        soonest = now + LOOK_SECONDS
        for connection in tuple(self._busy):
            if not connection.is_waited_for:
                continue
            if connection.deadline <= now:
                connection.fail(Failure.STALLED if connection.status else Failure.SILENT)
            else:
                soonest = min(soonest, connection.deadline)
        self._let_go(now)
        if self._busy or self._kept:
            self._look_by(soonest)

    def _let_go(self, now: float) -> None:
        """Close what was kept for too long."""
        for destination, waiting in tuple(self._kept.items()):
            while waiting and waiting[0].kept_since + KEPT_SECONDS <= now:
                waiting.pop(0).abort()
            if not waiting:
                del self._kept[destination]
