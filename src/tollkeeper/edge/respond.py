"""Turn HTTP exchanges into calls, and their replies or refusals back into HTTP.

This is the only file that knows ASGI's messages.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator

import msgspec

from tollkeeper.core.addresses import Address, AddressBook
from tollkeeper.core.client_ip import read_ip
from tollkeeper.core.errors import (
    AddressUnknown,
    GatewayError,
    InternalFailure,
    IpBanned,
    MalformedHeader,
    MethodNotAllowed,
    Unavailable,
)
from tollkeeper.edge import shapes
from tollkeeper.edge.body import hear_out
from tollkeeper.edge.call_log import CallLine, CallLog, time_for_log
from tollkeeper.edge.endpoints import Services
from tollkeeper.edge.exchange import JSON, BrokenOff, Exchange, Header, Receive, Reply, Scope, Send, Sent
from tollkeeper.edge.guard import Guard, refusal_of
from tollkeeper.edge.routes import CURRENT, DEPRECATED, RouteTable, Style
from tollkeeper.edge.strict import check_framing, host_of
from tollkeeper.steady import survive, without_content

log = logging.getLogger(__name__)

HEALTH_PATHS = frozenset({"/livez", "/readyz"})
OTHER = "other"
FORWARDED = (b"x-forwarded-for", b"forwarded", b"x-real-ip", b"via")
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

PREFLIGHT = Reply(
    b"",
    204,
    (
        (b"access-control-allow-origin", b"*"),
        (b"access-control-allow-methods", b"GET, POST, OPTIONS"),
        # "*" does not cover Authorization, which must be named.
        (b"access-control-allow-headers", b"authorization, *"),
        (b"access-control-max-age", b"86400"),
    ),
)


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """What /readyz tells: whether this process can serve calls, and why not."""

    ready: bool
    database: str
    ledger: str
    redis: str


class Readiness(msgspec.Struct, frozen=True):
    """What /readyz tells whoever is not on this machine."""

    ready: bool


class Gateway:
    """The public HTTP of one worker process."""

    def __init__(
        self,
        services: Services,
        routes: RouteTable,
        book: AddressBook,
        call_log: CallLog,
        health: Callable[[], Health],
        guard: Guard,
    ) -> None:
        self._services = services
        self._routes = routes
        self._book = book
        self._call_log = call_log
        self._health = health
        self._guard = guard
        self._early: set[asyncio.Future[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = Exchange(scope, receive, send, self._services.relay.clock.unix_milliseconds())
        if exchange.path in HEALTH_PATHS and exchange.method in {"GET", "HEAD"}:
            await _send(exchange, self._health_reply(exchange))
            return
        reply = await self._reply(exchange)
        if exchange.claim():
            await self._answer(exchange, reply)
        if isinstance(reply, Sent) and reply.broken_off:
            raise BrokenOff

    async def _answer(self, exchange: Exchange, reply: Reply | Sent) -> None:
        """Send a reply that has not gone yet, and write the call's line."""
        if isinstance(reply, Reply):
            if reply.status >= 400 and exchange.code != IpBanned.code:
                await hear_out(exchange)
            await _send(exchange, reply)
        # What is no route of ours may be anything, words and keys included.
        path = exchange.path if self._routes.has(exchange.path) else OTHER
        self._call_log.write(_line(exchange, reply, path))

    async def _reply(self, exchange: Exchange) -> Reply | Sent:
        style = CURRENT
        try:
            self._guard.recognise(exchange)
            check_framing(exchange)
            exchange.address = address = self._address(exchange)
            style = self._routes.style(address, exchange.path)
            if exchange.method == "OPTIONS" and f"{exchange.path}/".startswith(("/v1/", "/v2/")):
                return PREFLIGHT
            if exchange.ban is not None:
                await self._pass_ban(exchange, style)
            route = self._routes.find(address, exchange.path, exchange.method)
            exchange.refuse_early = lambda refusal: self._refuse_early(exchange, style, refusal)
            reply = await route.endpoint(exchange, self._services)
            if isinstance(reply, Sent):
                return reply
            return msgspec.structs.replace(reply, headers=reply.headers + style.headers)
        except GatewayError as problem:
            # Who is banned is told that, and not whether a key is known.
            refusal = refusal_of(exchange) if _is_banned(exchange, problem) else problem
            await self._count(exchange, refusal)
        except Exception as problem:  # The edge must survive: one broken call is one 500.
            log.error("call %s failed: %s", exchange.request_id, without_content(problem))
            refusal = InternalFailure()
        return _refused(exchange, style, _untied(refusal))

    async def _pass_ban(self, exchange: Exchange, style: Style) -> None:
        """Raise IpBanned, unless a good key may come: in the header, or in the body where the older endpoint has it."""
        relay = self._services.relay
        if style is DEPRECATED and exchange.method == "POST":
            self._guard.take_lookup(exchange)
        else:
            await self._guard.let_pass(exchange, relay.keys, relay.clock)

    async def _count(self, exchange: Exchange, refusal: GatewayError) -> None:
        """What was wrong with a call counts against its IP, and as a call of its key like any other."""
        self._guard.note(exchange, refusal)
        caller, relay = exchange.caller, self._services.relay
        if caller is None or exchange.limit is not None or isinstance(refusal, Unavailable):
            return

        async def take_place() -> None:
            shelf = await relay.catalog.shelf()
            await relay.gate.count(exchange, caller, shelf.rates_of(caller))

        await survive("counting of a call", take_place)

    def _refuse_early(self, exchange: Exchange, style: Style, refusal: GatewayError) -> None:
        if not exchange.claim():
            return
        answering = asyncio.ensure_future(self._answer(exchange, _refused(exchange, style, refusal)))
        self._early.add(answering)
        answering.add_done_callback(self._early.discard)

    def _address(self, exchange: Exchange) -> Address:
        address = self._book.find(host_of(exchange))
        if address is None:
            raise AddressUnknown
        return address

    def _health_reply(self, exchange: Exchange) -> Reply:
        if exchange.path == "/livez":
            return Reply(b'{"alive":true}')
        health = self._health()
        told = health if _is_on_this_machine(exchange) else Readiness(ready=health.ready)
        return Reply(shapes.encode(told), 200 if health.ready else 503)


async def _send(exchange: Exchange, reply: Reply) -> None:
    headers = [
        *reply.headers,
        (b"x-request-id", exchange.id_text.encode()),
        *exchange.limit_headers(),
        (b"cache-control", reply.caching),
    ]
    # A length beside 304 would be that of the body which the client has already.
    if reply.status != 304:
        headers.append((b"content-length", str(len(reply.body)).encode()))
    await exchange.send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await exchange.send({"type": "http.response.body", "body": reply.body, "more_body": False})


def _untied(refusal: GatewayError) -> GatewayError:
    """Without the frames that it came through: a variable of one holds it, and with it the body that was refused."""
    refusal.__context__ = refusal.__cause__ = None
    return refusal.with_traceback(None)


def _refused(exchange: Exchange, style: Style, refusal: GatewayError) -> Reply:
    # Our own code, for the log: an instance may have the provider's, which can be a word of the caller's.
    exchange.code = type(refusal).code
    headers = (*JSON, *style.headers, *_refusal_headers(refusal))
    return Reply(style.error(refusal), style.status(refusal), headers)


def _refusal_headers(refusal: GatewayError) -> Iterator[Header]:
    if refusal.retry_after_seconds is not None:
        yield b"retry-after", str(refusal.retry_after_seconds).encode()
    if refusal.should_retry is not None:
        yield b"x-should-retry", str(refusal.should_retry).lower().encode()
    if refusal.status == 401:
        yield b"www-authenticate", b"Bearer"
    if refusal.status == 524:
        yield b"cf-error", b"524"
    if isinstance(refusal, MalformedHeader):
        # Where the next request begins is not certain any more.
        yield b"connection", b"close"
    if isinstance(refusal, MethodNotAllowed):
        yield b"allow", ", ".join(refusal.allowed).encode()


def _is_banned(exchange: Exchange, refusal: GatewayError) -> bool:
    return exchange.ban is not None and exchange.caller is None and not isinstance(refusal, Unavailable)


def _is_on_this_machine(exchange: Exchange) -> bool:
    """Whether somebody here asks for themselves, and no proxy for somebody else."""
    peer = read_ip(exchange.peer)
    return peer is not None and peer.is_loopback and not any(map(exchange.header_lines, FORWARDED))


def _line(exchange: Exchange, reply: Reply | Sent, path: str) -> CallLine:
    caller = exchange.caller
    return CallLine(
        time=time_for_log(exchange.unix_milliseconds),
        request_id=exchange.id_text,
        address=exchange.address,
        method=exchange.method if exchange.method in METHODS else OTHER,
        path=path,
        status=reply.status,
        milliseconds=round((time.perf_counter() - exchange.begun) * 1_000, 2),
        sent_bytes=reply.body_bytes,
        peer=exchange.peer,
        ip=None if exchange.ip == exchange.peer else exchange.ip,
        key_id=caller.key_id if caller else None,
        account_id=caller.account_id if caller else None,
        admitted_at=exchange.admitted_at_us,
        code=exchange.code,
    )
