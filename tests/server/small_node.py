"""A node of a small application, as a process: `python small_node.py PORT WORKERS TROUBLE`."""

import asyncio
import logging
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from tollkeeper.cli.process import bound
from tollkeeper.server.application import Application, HttpRequest, Port
from tollkeeper.server.listener import ConnectionLimits
from tollkeeper.server.worker import Served
from tollkeeper.server.workers import Workers

LIMITS = ConnectionLimits(connections=100, idle_seconds=60, crowded_idle_seconds=60)
KILL_AFTER_SECONDS = 20

log = logging.getLogger(__name__)


def application(made: str, trouble: str) -> Served:
    """Answers with its process and how it was made."""

    async def answer(request: HttpRequest) -> None:
        request.answer(200, [(b"connection", b"close")], f"{os.getpid()} {made}".encode())

    @asynccontextmanager
    async def life(_: Port) -> AsyncIterator[None]:
        log.warning("begins")
        if trouble == "begin":
            raise RuntimeError
        if trouble == "slow":
            await asyncio.sleep(1)
        if trouble == "uneven":
            await asyncio.to_thread(wait_unless_first)
        yield
        log.warning("ends")

    return Served(Application(answer, life), LIMITS)


def wait_unless_first() -> None:
    """One worker begins at once; the others when there is a file `go` beside them."""
    try:
        Path("first").touch(exist_ok=False)
    except FileExistsError:
        wait_to_go()


def wait_to_go() -> None:
    while not Path("go").exists():
        time.sleep(0.02)


def renewed() -> Served:
    return application("renewed", "none")


def renewed_late() -> Served:
    """It is not made before there is a file `go` beside it."""
    log.warning("is being made")
    wait_to_go()
    return renewed()


def not_renewed() -> Served:
    raise SystemExit(1)


RENEWED = {"renewal": not_renewed, "late": renewed_late}


def main() -> int:
    logging.basicConfig(level=logging.INFO)
    port, workers, trouble = sys.argv[1:]
    if trouble == "deaf":
        # Whoever started us may have left it so.
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    return Workers(
        partial(application, "first", trouble),
        bound("127.0.0.1", int(port), "PORT"),
        count=int(workers),
        renewed=RENEWED.get(trouble, renewed),
        kill_after_seconds=KILL_AFTER_SECONDS,
    ).run()


if __name__ == "__main__":
    sys.exit(main())
