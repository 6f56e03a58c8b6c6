"""The beginning and end of a worker process.

Rules of this file
1. SIGTERM is ours. It begins the lame-duck time: /readyz says 503, calls are still taken, and each answer ends its
   connection. After `lame_duck_seconds` the port is closed.
2. Calls under way get `drain_seconds`; then they are told that the node stops, and are charged for what was delivered.
3. SIGTERM may come twice, from the service manager and from the main process, and means no more then. SIGUSR1 comes
   from the main process alone, for somebody who does not want to wait: each one goes a stage further.
4. SIGUSR2 comes where another process has taken this one's place: it stops likewise, but nobody need look elsewhere,
   and /readyz says nothing of it.
5. Everything that calls need (heartbeat, books, stores) is ended only when there are no calls any more.
"""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from enum import IntEnum

from tollkeeper.relay.call import Running
from tollkeeper.server.application import Port

# Time for calls that were told to end: one last event, one settlement.
LAST_WORDS_SECONDS = 7.0

log = logging.getLogger(__name__)


class StoppingStage(IntEnum):
    """How far a process has come with stopping."""

    SERVING = 0
    LAME_DUCK = 1
    DRAINING = 2
    ENDING = 3


class Stopping:
    """Ends a process in order."""

    def __init__(self, running: Running, *, lame_duck_seconds: float, drain_seconds: float) -> None:
        # Looked at by every call.
        self.begun = False
        # Whether another process of this node takes its calls.
        self.is_followed = False
        self._stage = StoppingStage.SERVING
        self._running = running
        self._lame_duck_seconds = lame_duck_seconds
        self._drain_seconds = drain_seconds
        self._port: Port | None = None

    def begin_with(self, port: Port) -> None:
        """From now on, SIGTERM, SIGUSR1 and SIGUSR2 come here."""
        self._port = port
        loop = asyncio.get_running_loop()
        try:
            loop.add_signal_handler(signal.SIGTERM, self.begin)
            loop.add_signal_handler(signal.SIGUSR1, self.hurry)
            loop.add_signal_handler(signal.SIGUSR2, self.give_way)
        except (NotImplementedError, ValueError, RuntimeError):
            log.warning("SIGTERM cannot be caught here; calls under way will be ended by the server")

    def begin(self) -> None:
        """Say that this process stops, and close the port when balancers have heard it."""
        if self._stage is not StoppingStage.SERVING:
            return
        self.begun, self._stage = True, StoppingStage.LAME_DUCK
        said = "another worker is in its place" if self.is_followed else "/readyz says 503"
        log.info("stopping: %s, and calls are taken for %g s more", said, self._lame_duck_seconds)
        asyncio.get_running_loop().call_later(self._lame_duck_seconds, self._close_port)

    @property
    def refuses(self) -> bool:
        """Whether balancers should look for another node."""
        return self.begun and not self.is_followed

    def give_way(self) -> None:
        """Another process listens in the place of this one."""
        if self._stage is StoppingStage.SERVING:
            self.is_followed = True
            self.begin()

    def hurry(self) -> None:
        """Do not wait for what is waited for now."""
        if self._stage < StoppingStage.DRAINING:
            self._close_port()
        else:
            self._end_calls()

    async def finish(self) -> None:
        """Wait for calls whose callers are gone: the server knows nothing of those."""
        self._drain()
        try:
            async with asyncio.timeout(self._drain_seconds + LAST_WORDS_SECONDS):
                await self._running.wait_until_none()
        except TimeoutError:
            log.error("calls are still under way; the journal and the sweeper will settle them")

    def _close_port(self) -> None:
        if self._stage < StoppingStage.DRAINING and self._port is not None:
            self._drain()
            self._port.close()

    def _drain(self) -> None:
        if self._stage < StoppingStage.DRAINING:
            self.begun, self._stage = True, StoppingStage.DRAINING
            asyncio.get_running_loop().call_later(self._drain_seconds, self._end_calls)

    def _end_calls(self) -> None:
        if self._stage < StoppingStage.ENDING:
            self._stage = StoppingStage.ENDING
            self._running.end_all()
            if self._port is not None:
                # They have had their last words. Who does not take them is not waited for.
                asyncio.get_running_loop().call_later(LAST_WORDS_SECONDS, self._port.abort)


@asynccontextmanager
async def lifespan(life: AbstractAsyncContextManager[object], stopping: Stopping, port: Port) -> AsyncIterator[None]:
    """Keep `life` open from before the first connection to the end of the last call."""
    async with life:
        stopping.begin_with(port)
        yield
        await stopping.finish()
