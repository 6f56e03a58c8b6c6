"""New connections to providers: names looked up, IPv4 and IPv6 raced, proxies and certificates.

Rules of this file
1. Nothing comes from the environment: a proxy is one that the operator has set.
2. What makes the sockets has the last word about where they lead (`Reachable`).
3. A provider's key goes to the provider alone: through a tunnel, never to the proxy, where the address is encrypted.
"""

import asyncio
import base64
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, cast
from urllib.parse import unquote, urlsplit

from aiohappyeyeballs import start_connection

from tollkeeper.ports import Failure, UpstreamFailed
from tollkeeper.providers.http_client.connection import FRAMING_BYTES_MOST, Connection
from tollkeeper.providers.http_client.target import Target, target_of
from tollkeeper.providers.reachable import Reachable

# How long the second address waits for the first one, as RFC 8305 recommends.
RACE_SECONDS: Final = 0.25
# How long, and of how many names, it is remembered what they stand for.
NAME_SECONDS: Final = 10.0
NAMES_MOST: Final = 1_024
UNREACHED: Final = (OSError, RuntimeError, ValueError)

MakeSocket = Callable[[tuple[Any, ...]], socket.socket]


class Proxy:
    """An egress proxy, as the operator has set it."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        login = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        self.target = target_of(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}")
        # The line of a head that says who asks; "" where nobody is to be named.
        self.login = "" if parts.username is None else f"proxy-authorization: Basic {_in_base64(login)}\r\n"


class Opener:
    def __init__(self, *, trust: ssl.SSLContext, reachable: Reachable, proxy: Proxy | None) -> None:
        self._trust = trust
        self._proxy = proxy
        # The proxy is the operator's own, wherever it is.
        self._make_socket: MakeSocket = socket_to if proxy else reachable.socket
        self._names: dict[tuple[str, int], tuple[float, list[Any]]] = {}

    async def open(self, target: Target, connection: Connection) -> None:
        """Connect it. Raise UpstreamFailed where that cannot be done."""
        try:
            if self._proxy is None:
                await self._straight(target, connection)
            elif target.is_secure:
                await self._through_tunnel(self._proxy, target, connection)
            else:
                await self._straight(self._proxy.target, connection)
        except UNREACHED as problem:
            connection.abort()
            raise UpstreamFailed(Failure.UNREACHABLE) from problem
        except asyncio.CancelledError:
            connection.abort()
            raise

    async def _straight(self, target: Target, protocol: asyncio.BaseProtocol) -> asyncio.Transport:
        loop = asyncio.get_running_loop()
        found = await self._look_up(target.host, target.port)
        made = await start_connection(found, happy_eyeballs_delay=RACE_SECONDS, socket_factory=self._make_socket)
        tls = self._trust if target.is_secure else None
        try:
            transport, _ = await loop.create_connection(
                lambda: protocol, sock=made, ssl=tls, server_hostname=_name(target) if tls else None
            )
        except (*UNREACHED, asyncio.CancelledError):
            # Where it failed before the loop had the socket, nobody else closes it.
            with suppress(*UNREACHED):
                made.close()
            raise
        return transport

    async def _through_tunnel(self, proxy: Proxy, target: Target, connection: Connection) -> None:
        tunnel = Tunnel()
        transport = await self._straight(proxy.target, tunnel)
        try:
            goal = f"{target.authority.removesuffix(f':{target.port}')}:{target.port}"
            transport.write(f"CONNECT {goal} HTTP/1.1\r\nhost: {goal}\r\n{proxy.login}\r\n".encode())
            await tunnel.joined
            loop = asyncio.get_running_loop()
            secured = await loop.start_tls(transport, connection, self._trust, server_hostname=_name(target))
            connection.connection_made(cast(asyncio.Transport, secured))
        except (*UNREACHED, asyncio.CancelledError):
            transport.abort()
            raise

    async def _look_up(self, host: str, port: int) -> list[Any]:
        loop = asyncio.get_running_loop()
        known = self._names.get((host, port))
        if known is not None and known[0] > loop.time():
            return known[1]
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
        if len(self._names) >= NAMES_MOST:
            self._names.clear()
        self._names[host, port] = loop.time() + NAME_SECONDS, found
        return found


class Tunnel(asyncio.Protocol):
    """The way to a proxy, until it has joined us with the provider."""

    def __init__(self) -> None:
        self.joined: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._heard = b""

    def data_received(self, data: bytes) -> None:
        self._heard += data
        head, end, surplus = self._heard.partition(b"\r\n\r\n")
        if self.joined.done() or not (end or len(head) > FRAMING_BYTES_MOST):
            return
        words = head.split(None, 2)
        if end and not surplus and len(words) > 1 and words[0].startswith(b"HTTP/1.") and words[1] == b"200":
            self.joined.set_result(None)
        else:
            self.joined.set_exception(OSError("the proxy does not join us with the provider"))

    def connection_lost(self, _: Exception | None) -> None:
        if not self.joined.done():
            self.joined.set_exception(OSError("the proxy has closed the connection"))


def socket_to(found: tuple[Any, ...]) -> socket.socket:
    family, kind, protocol, _, _ = found
    return socket.socket(family, kind, protocol)


def trusting(root_certificates: bytes | None) -> ssl.SSLContext:
    """The system's authorities, and ours."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    if root_certificates is not None:
        context.load_verify_locations(cadata=root_certificates.decode())
    return context


def _name(target: Target) -> str:
    """As certificates have it."""
    return target.host.rstrip(".")


def _in_base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
