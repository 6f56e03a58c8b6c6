"""Providers over HTTP/1.1: one client, the connections it keeps, and how each failure is told.

Rules of this file
1. Nothing comes from the environment: no proxy, cookie, redirect or decoding that was not asked for.
2. A call that ends early, for whatever reason, closes its connection. One that was read to its end gives it back.
3. A request is sent again only where it went out on a kept connection that closed before an answer began.
   On a connection of its own a provider may have acted on it: that is never sent again.
"""

import asyncio
from collections.abc import Callable

from tollkeeper.core.calls.left_out import LeftOut
from tollkeeper.ports import Failure, UpstreamFailed, UpstreamRequest
from tollkeeper.providers.http_client.connection import Connection
from tollkeeper.providers.http_client.connections import Connections
from tollkeeper.providers.http_client.opening import Opener, Proxy, trusting
from tollkeeper.providers.http_client.target import Target, head, target_of
from tollkeeper.providers.reachable import Reachable
from tollkeeper.steady import Timeout


class HttpUpstream:
    """The way to providers over HTTP, straight or through a proxy."""

    def __init__(
        self,
        *,
        connect_seconds: float,
        idle_seconds: float,
        private_allowed: bool,
        proxy_url: str | None = None,
        root_certificates: bytes | None = None,
    ) -> None:
        """`private_allowed`: providers may be in private networks and on this machine."""
        self._connect_seconds = connect_seconds
        self._idle_seconds = idle_seconds
        self._reachable = Reachable(private_allowed=private_allowed)
        self._proxy = None if proxy_url is None else Proxy(proxy_url)
        self._opener = Opener(trust=trusting(root_certificates), reachable=self._reachable, proxy=self._proxy)
        self._begun: Connections | None = None

    @property
    def _connections(self) -> Connections:
        """Made by the first call, as they belong to the event loop that runs then."""
        if self._begun is None:
            self._begun = Connections()
        return self._begun

    async def send(self, request: UpstreamRequest) -> "HttpAnswer":
        target = target_of(request.url)
        if self._reachable.refuses(target.scheme, target.host):
            raise UpstreamFailed(Failure.UNREACHABLE)
        asked = self._head(target, request)
        connections = self._connections
        deadline = asyncio.get_running_loop().time() + request.first_byte_seconds
        while True:
            connection = connections.kept(target.destination) or await self._opened(target, deadline)
            request.on_sent()
            connection.ask(asked, request.body)
            while not connection.status and connection.failure is None:
                await connections.wait(connection, deadline)
            if connection.status:
                return HttpAnswer(connections, connection, self._idle_seconds)
            connections.drop(connection)
            # Each that fails is gone from those that are kept, so this ends with a new one at the latest.
            if not connection.may_be_asked_again:
                raise UpstreamFailed(connection.failure or Failure.BROKEN)

    def _head(self, target: Target, request: UpstreamRequest) -> bytes:
        if self._proxy is None or target.is_secure:
            return head(target, request)
        return head(target, request, self._proxy.login, whole_address=True)

    async def _opened(self, target: Target, deadline: float) -> Connection:
        loop = asyncio.get_running_loop()
        connection = self._connections.new(target.destination)
        left_seconds = deadline - loop.time()
        try:
            async with Timeout(min(self._connect_seconds, left_seconds)):
                await self._opener.open(target, connection)
        except TimeoutError:
            failure = Failure.UNREACHABLE if self._connect_seconds <= left_seconds else Failure.SILENT
            raise UpstreamFailed(failure) from None
        return connection

    async def close(self) -> None:
        if self._begun is not None:
            self._begun.close()
            # Connections are told of their end by the loop.
            await asyncio.sleep(0)


class HttpAnswer:
    """An answer whose headers have come. One task at a time reads it."""

    __slots__ = ("_connection", "_connections", "_headers", "_idle_seconds", "_is_done", "status")

    is_translated = False
    untranslated: LeftOut | None = None
    native: bytes | None = None

    def __init__(self, connections: Connections, connection: Connection, idle_seconds: float) -> None:
        self.status = connection.status
        self._headers = connection.headers
        self._connections = connections
        self._connection = connection
        self._idle_seconds = idle_seconds
        self._is_done = False

    def header(self, name: str) -> str | None:
        value = self._headers.get(name.lower().encode())
        return None if value is None else value.decode("latin-1")

    async def read(self) -> bytes:
        connection = self._connection
        while not self._is_done:
            piece = connection.take()
            if piece:
                return piece
            if connection.failure is not None:
                await self.close()
                raise UpstreamFailed(connection.failure)
            if connection.is_over:
                await self.close()
            else:
                await self._connections.wait(connection, connection.now() + self._idle_seconds)
        return b""

    def pass_by(self, take: Callable[[bytes], bool]) -> None:
        if not self._is_done:
            self._connection.pass_by(take, self._idle_seconds)

    async def close(self) -> None:
        if not self._is_done:
            self._is_done = True
            self._connections.give_back(self._connection)
