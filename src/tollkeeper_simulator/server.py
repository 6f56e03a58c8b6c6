"""The processes of the simulator: listen, serve, stop in order."""

import asyncio
import gc
import os
import signal
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
import uvloop

from tollkeeper_simulator.directions import Directions
from tollkeeper_simulator.provider import Provider
from tollkeeper_simulator.storm import CALM, Storm
from tollkeeper_simulator.truth import TruthFile
from tollkeeper_simulator.wire import Connection

BACKLOG = 4_096
LOOK_FOR_PARENT_SECONDS = 1.0


class Options(msgspec.Struct, frozen=True):
    """How a simulator is started."""

    host: str = "127.0.0.1"
    port: int = 0
    workers: int = 1
    truth: Path | None = None
    key: str | None = None
    name: str = ""
    defaults: Directions = Directions()
    storm: Storm = CALM
    hostile: bool = False


def run(options: Options, when_ready: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT. `when_ready` is told the address once the port takes connections."""
    listeners = _listen(options)
    address = f"http://{options.host}:{listeners[0].getsockname()[1]}/v1"
    if options.workers == 1:
        uvloop.run(_serve(options, listeners[0], lambda: when_ready(address)))
        return
    when_ready(address)
    workers = [_fork(options, listener) for listener in listeners]
    for listener in listeners:
        listener.close()
    _wait_for(workers)


def _listen(options: Options) -> list[socket.socket]:
    """One socket for each worker on the same port; the kernel deals the connections out."""
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    listeners: list[socket.socket] = []
    port = options.port
    for _ in range(options.workers):
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if options.workers > 1:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind((options.host, port))
        listener.listen(BACKLOG)
        port = listener.getsockname()[1]
        listeners.append(listener)
    return listeners


async def _serve(options: Options, listener: socket.socket, when_ready: Callable[[], None]) -> None:
    truth = TruthFile(options.truth)
    provider = Provider(
        truth,
        key=options.key,
        name=options.name,
        defaults=options.defaults,
        storm=options.storm,
        hostile=options.hostile,
    )
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    server = await loop.create_server(partial(Connection, provider), sock=listener, backlog=BACKLOG)
    # The tokenizer's tables live as long as the process: the collector need not walk through them.
    gc.freeze()
    when_ready()
    await stopping.wait()
    server.close()
    for connection in tuple(provider.connections):
        connection.stop()
    truth.close()


def _fork(options: Options, listener: socket.socket) -> int:
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        uvloop.run(_serve(options, listener, partial(_follow, parent)))
        os._exit(0)
    return child


def _follow(parent: int) -> None:
    """End with the parent, even if it was killed and could not say so."""
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)
    asyncio.get_running_loop().call_later(LOOK_FOR_PARENT_SECONDS, _follow, parent)


def _wait_for(workers: list[int]) -> None:
    def pass_on(number: int, _: object) -> None:
        for worker in workers:
            os.kill(worker, number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, pass_on)
    for worker in workers:
        os.waitpid(worker, 0)
