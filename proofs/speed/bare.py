"""The bare proxy: the gateway's server and client with nothing between them. No key, no books, no log.

`python -m proofs.speed.bare PORT UPSTREAM_URL PROVIDER_KEY`
"""

import subprocess
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Self

from granian import Granian
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings

from proofs.rig.measuring.processes import listeners
from proofs.rig.patience import wait_until
from tollkeeper.edge.http.exchange import AsgiScope, Receive, Send
from tollkeeper.ports import UpstreamRequest
from tollkeeper.providers.http import HttpUpstream
from tools.node import clean_environment
from tools.services.process import free_port

FIRST_BYTE_SECONDS = 600

App = Callable[[AsgiScope, Receive, Send], Awaitable[None]]


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


def proxy(upstream: str, provider_key: str) -> App:
    """The ASGI application of its worker process."""
    client = HttpUpstream(connect_seconds=10, idle_seconds=300, private_allowed=True)
    url = f"{upstream}/chat/completions"
    headers = (("content-type", "application/json"), ("authorization", f"Bearer {provider_key}"))

    async def application(scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await live(receive, send, client)
            return
        body = await read(receive)
        answer = await client.send(UpstreamRequest(url, headers, body, FIRST_BYTE_SECONDS))
        kind = (b"content-type", (answer.header("content-type") or "").encode())
        if answer.header("content-length") is None:
            await send({"type": "http.response.start", "status": answer.status, "headers": [kind]})
            while piece := await answer.read():
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        else:
            pieces = []
            while piece := await answer.read():
                pieces.append(piece)
            whole = b"".join(pieces)
            length = (b"content-length", str(len(whole)).encode())
            await send({"type": "http.response.start", "status": answer.status, "headers": [kind, length]})
            await send({"type": "http.response.body", "body": whole, "more_body": False})
        await answer.close()

    return application


async def read(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body", False):
            return bytes(body)


async def live(receive: Receive, send: Send, client: HttpUpstream) -> None:
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await client.close()
    await send({"type": "lifespan.shutdown.complete"})


def main() -> None:
    port, upstream, provider_key = sys.argv[1:]
    # As in `tollkeeper.cli.serve`: what differs from the gateway must be what the gateway does.
    Granian(
        f"{__name__}:proxy",
        address="127.0.0.1",
        port=int(port),
        interface=Interfaces.ASGI,
        workers=1,
        websockets=False,
        http=HTTPModes.http1,
        backpressure=10_000,
        http1_settings=HTTP1Settings(header_read_timeout=75_000),
        workers_kill_timeout=10,
        log_enabled=False,
    ).serve(target_loader=partial(proxy, upstream, provider_key), wrap_loader=False)


if __name__ == "__main__":
    main()
