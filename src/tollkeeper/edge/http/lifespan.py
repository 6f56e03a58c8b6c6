"""The beginning and end of a worker process.

Rules of this file
1. SIGTERM is ours. It begins the lame-duck time: /readyz says 503, calls are still taken, and each answer ends its
   connection. After `lame_duck_seconds` it goes on to the server as SIGINT, which closes the port.
2. Calls under way get `drain_seconds`; then they are told that the node stops, and are charged for what was delivered.
3. SIGTERM may come twice, from the service manager and from the main process, and means no more then. SIGUSR1 comes
   from the main process alone, for somebody who does not want to wait: each one goes a stage further.
4. SIGUSR2 comes where another process has taken this one's place: it stops likewise, but nobody need look elsewhere,
   and /readyz says nothing of it.
5. Everything that calls need (heartbeat, books, stores) is ended only when there are no calls any more.
"""

import asyncio
import logging
import os
import signal
from contextlib import AbstractAsyncContextManager
from enum import IntEnum

from tollkeeper.edge.http import asgi
from tollkeeper.edge.http.exchange import Receive, Send
from tollkeeper.relay.call import Running

# Time for calls that were told to end: one last event, one settlement.
LAST_WORDS_SECONDS = 7.0
HANG_UP = (b"connection", b"close")

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
        self._overdue = asyncio.Event()

    def catch_signals(self) -> None:
        """From now on, SIGTERM, SIGUSR1 and SIGUSR2 come here."""
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

    async def wait_until_overdue(self) -> None:
        """Calls have had their time and their last words, and the server still does not say that it ended."""
        await self._overdue.wait()

    async def finish(self) -> None:
        """Wait for calls whose callers are gone: the server knows nothing of those."""
        self._drain()
        try:
            async with asyncio.timeout(self._drain_seconds + LAST_WORDS_SECONDS):
                await self._running.wait_until_none()
        except TimeoutError:
            log.error("calls are still under way; the journal and the sweeper will settle them")

    def last_on_its_connection(self, send: Send) -> Send:
        """Whoever kept the connection for further calls would send them to a port that is about to close."""

        async def sending(message: asgi.AsgiMessage) -> None:
            await send(asgi.with_header(message, HANG_UP) if asgi.is_response_start(message) else message)

        return sending

    def _close_port(self) -> None:
        if self._stage < StoppingStage.DRAINING:
            self._drain()
            os.kill(os.getpid(), signal.SIGINT)

    def _drain(self) -> None:
        if self._stage < StoppingStage.DRAINING:
            self.begun, self._stage = True, StoppingStage.DRAINING
            asyncio.get_running_loop().call_later(self._drain_seconds, self._end_calls)

    def _end_calls(self) -> None:
        if self._stage < StoppingStage.ENDING:
            self._stage = StoppingStage.ENDING
            self._running.end_all()
            asyncio.get_running_loop().call_later(LAST_WORDS_SECONDS, self._overdue.set)


async def lifespan(life: AbstractAsyncContextManager[object], stopping: Stopping, receive: Receive, send: Send) -> None:
    """Keep `life` open from startup to the end of the last call."""
    await receive()
    async with life:
        stopping.catch_signals()
        await send(asgi.LIFESPAN_STARTED)
        shutdown = asyncio.ensure_future(receive())
        overdue = asyncio.ensure_future(stopping.wait_until_overdue())
        await asyncio.wait({shutdown, overdue}, return_when=asyncio.FIRST_COMPLETED)
        overdue.cancel()
        await stopping.finish()
    if not shutdown.done():
        # The server waits for a client that does not read. The books are closed, and nobody else is waited for.
        log.warning("a client does not take the end of its answer; the process ends without it")
        os._exit(0)
    await send(asgi.LIFESPAN_ENDED)
