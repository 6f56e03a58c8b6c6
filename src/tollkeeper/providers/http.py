"""Providers over HTTP/1.1: one client, the connections it keeps, and how each failure is told.

Rules of this file
1. Nothing comes from the environment: no proxy, cookie, redirect or decoding that was not asked for.
2. A call that ends early, for whatever reason, closes its connection. One that was read to its end gives it back.
3. A request is sent again only where it went out on a kept connection that closed before an answer began.
   On a connection of its own a provider may have acted on it: that is never sent again.
"""

import asyncio
import ssl
from collections.abc import Callable
from contextvars import ContextVar
from functools import lru_cache
from typing import Final
from weakref import WeakSet

import aiohttp
from aiohappyeyeballs import SocketFactoryType
from aiohttp.connector import Connection
from aiohttp.tracing import Trace
from yarl import URL

from tollkeeper.core.calls.left_out import LeftOut
from tollkeeper.ports import Failure, UpstreamFailed, UpstreamRequest
from tollkeeper.providers.reachable import Reachable

# Less than providers keep a connection without traffic, so that it is mostly we who let go of it.
KEPT_SECONDS: Final = 15.0
# How often it is looked whether a connection that says nothing is still there.
LOOK_SECONDS: Final = 1.0
# Addresses that are taken apart once.
ADDRESSES_KEPT: Final = 4_096
NOT_CONNECTED: Final = (aiohttp.ClientConnectorError, aiohttp.ClientHttpProxyError, aiohttp.ConnectionTimeoutError)
CUT_OFF: Final = (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError)


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
        self._proxy_url = proxy_url
        self._trust = trust(root_certificates)
        self._reachable = Reachable(private_allowed=private_allowed)
        self._opened: aiohttp.ClientSession | None = None

    @property
    def _client(self) -> aiohttp.ClientSession:
        """Opened by the first call, as it belongs to the event loop that runs then."""
        if self._opened is None:
            self._opened = aiohttp.ClientSession(
                connector=WatchedConnector(
                    ssl=self._trust,
                    keepalive_timeout=KEPT_SECONDS,
                    # The proxy is the operator's own, wherever it is.
                    make_socket=None if self._proxy_url else self._reachable.socket,
                ),
                timeout=aiohttp.ClientTimeout(total=None, connect=self._connect_seconds),
                headers={"accept-encoding": "identity", "user-agent": "tollkeeper"},
                skip_auto_headers=("content-type",),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=False,
                proxy=self._proxy_url,
            )
        return self._opened

    async def send(self, request: UpstreamRequest) -> "HttpAnswer":
        if self._reachable.refuses(address(request.url)):
            raise UpstreamFailed(Failure.UNREACHABLE)
        silence = Silence(request.first_byte_seconds)
        silence.begin()
        response: aiohttp.ClientResponse | None = None
        try:
            response = await self._send(request)
        except NOT_CONNECTED as error:
            raise UpstreamFailed(Failure.UNREACHABLE) from error
        except TimeoutError:
            raise UpstreamFailed(Failure.SILENT) from None
        except aiohttp.ClientError as error:
            raise UpstreamFailed(Failure.BROKEN) from error
        except asyncio.CancelledError:
            if silence.only_reason() is not None:
                raise UpstreamFailed(Failure.SILENT) from None
            raise
        finally:
            if response is None:
                silence.stop()
        silence.end()
        return HttpAnswer(response, silence, self._idle_seconds)

    async def _send(self, request: UpstreamRequest) -> aiohttp.ClientResponse:
        while True:
            departure = Departure(request.on_sent)
            departing.set(departure)
            try:
                return await self._begin(request)
            except NOT_CONNECTED:
                raise
            except CUT_OFF:
                # Each that fails is gone from those that are kept, so this ends with a new one at the latest.
                if departure.on_new_connection:
                    raise

    async def _begin(self, request: UpstreamRequest) -> aiohttp.ClientResponse:
        return await self._client.request(
            request.method,
            address(request.url),
            data=request.body or None,
            headers=request.headers,
            allow_redirects=False,
        )

    async def close(self) -> None:
        if self._opened is not None:
            await self._opened.close()


class HttpAnswer:
    """An answer whose headers have come. One task at a time reads it."""

    is_translated = False
    untranslated: LeftOut | None = None
    native: bytes | None = None

    def __init__(self, response: aiohttp.ClientResponse, silence: "Silence", idle_seconds: float) -> None:
        self.status = response.status
        self._response = response
        self._read = response.content.readany
        self._silence = silence
        silence.listen_to(response, idle_seconds)

    def header(self, name: str) -> str | None:
        return self._response.headers.get(name)

    async def read(self) -> bytes:
        self._silence.begin()
        try:
            piece = await self._read()
        except aiohttp.ClientError as error:
            await self.close()
            raise UpstreamFailed(Failure.BROKEN) from error
        except asyncio.CancelledError:
            await self.close()
            failure = self._silence.only_reason()
            if failure is not None:
                raise UpstreamFailed(failure) from None
            raise
        self._silence.end()
        return piece

    async def close(self) -> None:
        self._silence.stop()
        self._response.close()


class Silence:
    """A read timeout: cancels a task that waits too long for an answer or more of it. One timer for many reads: one for
    each would double their cost."""

    __slots__ = ("_failure", "_loop", "_most_seconds", "_reader", "_response", "_since", "_timer")

    def __init__(self, most_seconds: float) -> None:
        self._most_seconds = most_seconds
        self._response: aiohttp.ClientResponse | None = None
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._reader: asyncio.Task[object] | None = None
        self._since = 0.0
        self._failure: Failure | None = None

    def listen_to(self, response: aiohttp.ClientResponse, most_seconds: float) -> None:
        """The answer has begun; from now on it must not be silent for so long."""
        self._response, self._most_seconds = response, most_seconds
        if self._timer is not None and most_seconds < LOOK_SECONDS:
            self._timer.cancel()
            self._timer = None

    def begin(self) -> None:
        self._since = self._loop.time()
        self._reader = asyncio.current_task(self._loop)
        if self._timer is None:
            self._timer = self._loop.call_later(min(LOOK_SECONDS, self._most_seconds), self._look)

    def end(self) -> None:
        self._reader = None

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def only_reason(self) -> Failure | None:
        """What ended a read that was cancelled, if nobody else wanted it to end."""
        if self._failure is None or self._reader is None:
            return None
        return self._failure if self._reader.uncancel() == 0 else None

    def _look(self) -> None:
        self._timer = None
        if self._reader is None:
            return
        left_seconds = self._since + self._most_seconds - self._loop.time()
        if left_seconds <= 0 or (self._response is not None and is_closed(self._response)):
            self._failure = Failure.STALLED if left_seconds <= 0 else Failure.BROKEN
            self._reader.cancel()
        else:
            self._timer = self._loop.call_later(min(LOOK_SECONDS, left_seconds), self._look)


def is_closed(response: aiohttp.ClientResponse) -> bool:
    """Garbled framing closes a connection, and aiohttp raises nothing in the task that reads from it."""
    connection = response.connection
    return connection is not None and (connection.transport is None or connection.transport.is_closing())


class Departure:
    """What is to be known of a request that goes out. A connection is taken for new unless it was seen before."""

    __slots__ = ("on_new_connection", "on_sent")

    def __init__(self, on_sent: Callable[[], None]) -> None:
        self.on_sent = on_sent
        self.on_new_connection = True


departing: ContextVar[Departure] = ContextVar("departing")


class WatchedConnector(aiohttp.TCPConnector):
    """Tells of each request whether it has a kept connection, and that it is about to go out. (The client's own tracing
    tells the same, and costs more.)"""

    def __init__(self, *, ssl: ssl.SSLContext, keepalive_timeout: float, make_socket: SocketFactoryType | None) -> None:
        super().__init__(ssl=ssl, limit=0, keepalive_timeout=keepalive_timeout, socket_factory=make_socket)
        self._seen: WeakSet[object] = WeakSet()

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109
    ) -> Connection:
        connection = await super().connect(req, traces, timeout)
        departure = departing.get()
        departure.on_new_connection = connection.protocol not in self._seen
        if departure.on_new_connection:
            self._seen.add(connection.protocol)
        departure.on_sent()
        return connection


@lru_cache(ADDRESSES_KEPT)
def address(url: str) -> URL:
    return URL(url, encoded=True)


def trust(root_certificates: bytes | None) -> ssl.SSLContext:
    """The system's authorities, and ours."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    if root_certificates is not None:
        context.load_verify_locations(cadata=root_certificates.decode())
    return context
