"""ASGI, for applications that speak it: the only file of the service that knows what its messages look like. (The
console leaves them to Starlette; `console/counting` reads one field.)"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import unquote

from tollkeeper.server.application import Application, CallerGone, HttpRequest, NotBegun, Port

AsgiScope = MutableMapping[str, Any]
AsgiMessage = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[AsgiMessage]]
Send = Callable[[AsgiMessage], Awaitable[None]]
AsgiApp = Callable[[AsgiScope, Receive, Send], Awaitable[None]]

# With 2.3 an application hears of a client that left by receiving it, and not by an error in sending.
VERSION: Final = {"version": "3.0", "spec_version": "2.3"}
# A client that takes less than the kernel asks for at once, a megabyte or so, in this time counts as gone.
STUCK_SECONDS: Final = 120.0
DISCONNECT: Final[AsgiMessage] = {"type": "http.disconnect"}


def application_of(app: AsgiApp) -> Application:
    """An ASGI application, as the server has it."""

    async def answer(request: HttpRequest) -> None:
        exchange = AsgiExchange(request)
        await app(_scope_of(request), exchange.receive, exchange.send)

    @asynccontextmanager
    async def life(_: Port) -> AsyncIterator[None]:
        lifespan = Lifespan(app)
        await lifespan.ask_for("startup")
        yield
        await lifespan.ask_for("shutdown")

    return Application(answer, life)


class AsgiExchange:
    """One request and its answer, in messages."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request
        self._is_asked_for_body = True
        self._has_left = asyncio.Event()
        request.on_left = self._has_left.set
        if request.is_gone:
            self._has_left.set()

    async def receive(self) -> AsgiMessage:
        if self._is_asked_for_body:
            try:
                piece = await self._request.read()
            except CallerGone:
                return DISCONNECT
            self._is_asked_for_body = not self._request.is_read
            return {"type": "http.request", "body": piece, "more_body": self._is_asked_for_body}
        await self._has_left.wait()
        return DISCONNECT

    async def send(self, message: AsgiMessage) -> None:
        request = self._request
        if message["type"] == "http.response.start":
            request.begin(message["status"], message["headers"])
            return
        is_last = not message.get("more_body", False)
        request.write(message.get("body", b""), is_last=is_last)
        if is_last:
            # There is nothing more to be received.
            self._has_left.set()
        elif request.is_full:
            await self._drained()
        elif self._has_left.is_set():
            # Whoever sends on and on to nobody keeps nobody else waiting.
            await asyncio.sleep(0)

    async def _drained(self) -> None:
        """Wait until the client has taken enough, or break off: it would keep its place for ever."""
        try:
            async with asyncio.timeout(STUCK_SECONDS):
                await self._request.drained()
        except TimeoutError:
            self._request.break_off()


class Lifespan:
    """An ASGI application's life beside its requests."""

    def __init__(self, app: AsgiApp) -> None:
        self._asked: asyncio.Queue[AsgiMessage] = asyncio.Queue()
        self._said: asyncio.Queue[AsgiMessage] = asyncio.Queue()
        scope = {"type": "lifespan", "asgi": VERSION, "state": {}}
        self._living = asyncio.ensure_future(app(scope, self._asked.get, self._said.put))

    async def ask_for(self, part: str) -> None:
        """Wait until a part of it is done. Raise NotBegun, or what the application raises."""
        await self._asked.put({"type": f"lifespan.{part}"})
        saying = asyncio.ensure_future(self._said.get())
        await asyncio.wait({self._living, saying}, return_when=asyncio.FIRST_COMPLETED)
        if not saying.done():
            saying.cancel()
            await self._living
            raise NotBegun
        if saying.result()["type"] != f"lifespan.{part}.complete":
            raise NotBegun


def _scope_of(request: HttpRequest) -> AsgiScope:
    return {
        "type": "http",
        "asgi": VERSION,
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": unquote(request.path.decode("ascii")),
        "raw_path": request.path,
        "query_string": request.query,
        "root_path": "",
        "headers": request.headers,
        "client": request.peer,
        "server": None,
    }
