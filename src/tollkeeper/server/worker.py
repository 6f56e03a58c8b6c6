"""One worker process: an application, from its beginning to its end, and the port in between.

Rules of this file
1. Signals wait until they are listened to: whoever stops a worker that is still beginning is heard, and kills nobody.
2. SIGINT closes the port; connections under way come to their end, then the application is told to end. So do SIGTERM
   and SIGUSR2, unless the application listens to them itself. SIGHUP and SIGUSR1 do nothing that it does not do.
3. The port is opened when the application has begun.
4. A worker whose main process is gone stops as by SIGTERM: nobody else would tell it.
"""

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Final, NamedTuple

import uvloop

from tollkeeper.server.application import Application, NotBegun
from tollkeeper.server.listener import ConnectionLimits, Listener
from tollkeeper.steady import without_content

IGNORED: Final = (signal.SIGHUP, signal.SIGUSR1)

log = logging.getLogger(__name__)


class Served(NamedTuple):
    """What a worker serves, and for how many connections it has places."""

    application: Application
    limits: ConnectionLimits


class Post(NamedTuple):
    """What a worker is given by its main process."""

    listening: socket.socket
    # Tells the main process that calls are taken.
    ready: Connection
    # Ends when the main process does.
    lifeline: Connection


class WorkerPort:
    """The port of a worker, as its application may close it."""

    def __init__(self, listener: Listener) -> None:
        self.closed = asyncio.Event()
        self._listener = listener

    def close(self) -> None:
        self.closed.set()

    def abort(self) -> None:
        self._listener.abort()


def work(make: Callable[[], Served], post: Post) -> None:
    """Serve what `make` makes until told to stop."""
    try:
        uvloop.run(_work(make(), post))
    except NotBegun:
        raise SystemExit(1) from None
    except Exception as problem:  # A traceback may quote what callers sent.
        log.error("a worker ends: %s", without_content(problem))
        raise SystemExit(1) from None


async def _work(served: Served, post: Post) -> None:
    loop = asyncio.get_running_loop()
    listener = Listener(served.application.answer, served.limits)
    port = WorkerPort(listener)
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR2):
        loop.add_signal_handler(number, port.close)
    loop.add_reader(post.lifeline.fileno(), _stop_alone, post.lifeline)
    async with served.application.life(port):
        # Those that came until now are heard now.
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        listener.begin(post.listening)
        post.ready.send(None)
        await port.closed.wait()
        await listener.close()


def _stop_alone(lifeline: Connection) -> None:
    asyncio.get_running_loop().remove_reader(lifeline.fileno())
    log.error("the main process is gone, and its worker stops")
    os.kill(os.getpid(), signal.SIGTERM)
