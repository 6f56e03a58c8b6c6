"""The beginning and end of a worker process.

Rules of this file
1. SIGTERM is ours: it begins the stopping, and hands on to the server as SIGINT, which stops accepting at once.
2. Calls under way get `drain_seconds`; then they are told that the node stops, and are charged for what was delivered.
3. Everything that calls need (heartbeat, books, stores) is ended only when there are no calls any more.
"""

import asyncio
import logging
import os
import signal
from contextlib import AbstractAsyncContextManager

from tollkeeper.edge.exchange import Receive, Send
from tollkeeper.relay.call import Running

# Time for calls that were told to end: one last event, one settlement.
LAST_WORDS_SECONDS = 7.0

log = logging.getLogger(__name__)


class Stopping:
    """Ends a process in order."""

    def __init__(self, running: Running, *, drain_seconds: float) -> None:
        self.begun = False
        self._running = running
        self._drain_seconds = drain_seconds
        self._overdue = asyncio.Event()

    def listen(self) -> None:
        """From now on, SIGTERM comes here."""
        try:
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self._hear)
        except (NotImplementedError, ValueError, RuntimeError):
            log.warning("SIGTERM cannot be caught here; calls under way will be ended by the server")

    def begin(self) -> None:
        if not self.begun:
            self.begun = True
            loop = asyncio.get_running_loop()
            loop.call_later(self._drain_seconds, self._running.end_all)
            loop.call_later(self._drain_seconds + LAST_WORDS_SECONDS, self._overdue.set)

    async def wait_until_overdue(self) -> None:
        """Calls have had their time and their last words, and the server still does not say that it ended."""
        await self._overdue.wait()

    async def finish(self) -> None:
        """Wait for calls whose callers are gone: the server knows nothing of those."""
        self.begin()
        try:
            async with asyncio.timeout(self._drain_seconds + LAST_WORDS_SECONDS):
                await self._running.wait_until_none()
        except TimeoutError:
            log.error("calls are still under way; the journal and the sweeper will settle them")

    def _hear(self) -> None:
        self.begin()
        os.kill(os.getpid(), signal.SIGINT)


async def lifespan(life: AbstractAsyncContextManager[object], stopping: Stopping, receive: Receive, send: Send) -> None:
    """Keep `life` open from startup to the end of the last call."""
    await receive()
    async with life:
        stopping.listen()
        await send({"type": "lifespan.startup.complete"})
        shutdown = asyncio.ensure_future(receive())
        overdue = asyncio.ensure_future(stopping.wait_until_overdue())
        await asyncio.wait({shutdown, overdue}, return_when=asyncio.FIRST_COMPLETED)
        overdue.cancel()
        await stopping.finish()
    if not shutdown.done():
        # The server waits for a client that does not read. The books are closed, and nobody else is waited for.
        log.warning("a client does not take the end of its answer; the process ends without it")
        os._exit(0)
    await send({"type": "lifespan.shutdown.complete"})
