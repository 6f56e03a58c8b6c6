"""The bare proxy: the gateway's server and client with nothing between them. No key, no books, no log.

`python -m proofs.speed.bare PORT UPSTREAM_URL PROVIDER_KEY`
"""

import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Self

from proofs.rig.measuring.processes import listeners
from proofs.rig.patience import wait_until
from tollkeeper.cli.process import bound
from tollkeeper.ports import UpstreamRequest
from tollkeeper.providers.http import HttpUpstream
from tollkeeper.server.application import Application, HttpRequest, Port
from tollkeeper.server.listener import ConnectionLimits
from tollkeeper.server.worker import Served
from tollkeeper.server.workers import Workers
from tools.node import clean_environment
from tools.services.process import free_port

FIRST_BYTE_SECONDS = 600


class BareProxy:
    """One bare proxy as a process, from start to stop."""

    def __init__(self, upstream: str, provider_key: str) -> None:
        self.port = free_port()
        self._command = [sys.executable, "-m", __name__, str(self.port), upstream, provider_key]

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(self._command, env=clean_environment())
        try:
            wait_until(lambda: bool(listeners(self.port)), self._check_alive)
        except BaseException:
            # Whoever is interrupted while it starts leaves nothing behind.
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _check_alive(self) -> None:
        assert self.process.poll() is None, "the bare proxy ended"


def proxy(upstream: str, provider_key: str) -> Application:
    """What its worker process serves."""
    client = HttpUpstream(connect_seconds=10, idle_seconds=300, private_allowed=True)
    url = f"{upstream}/chat/completions"
    headers = (("content-type", "application/json"), ("authorization", f"Bearer {provider_key}"))

    async def pass_on(request: HttpRequest) -> None:
        answer = await client.send(UpstreamRequest(url, headers, await body_of(request), FIRST_BYTE_SECONDS))
        kind = (b"content-type", (answer.header("content-type") or "").encode())
        if answer.header("content-length") is None:
            request.begin(answer.status, [kind])
            while piece := await answer.read():
                request.write(piece)
                if request.is_full:
                    await request.drained()
            request.write(b"", is_last=True)
        else:
            pieces = []
            while piece := await answer.read():
                pieces.append(piece)
            whole = b"".join(pieces)
            request.answer(answer.status, [kind, (b"content-length", str(len(whole)).encode())], whole)
        await answer.close()

    @asynccontextmanager
    async def life(_: Port) -> AsyncIterator[None]:
        yield
        await client.close()

    return Application(pass_on, life)


async def body_of(request: HttpRequest) -> bytes:
    pieces = []
    while not request.is_read:
        pieces.append(await request.read())
    return b"".join(pieces)


def served(upstream: str, provider_key: str) -> Served:
    limits = ConnectionLimits(connections=10_000, idle_seconds=75, crowded_idle_seconds=75)
    return Served(proxy(upstream, provider_key), limits)


def main() -> int:
    port, upstream, provider_key = sys.argv[1:]
    # As in `tollkeeper.cli.serve`: what differs from the gateway must be what the gateway does.
    make = partial(served, upstream, provider_key)
    return Workers(make, bound("127.0.0.1", int(port), "PORT"), count=1, kill_after_seconds=10).run()


if __name__ == "__main__":
    sys.exit(main())
