"""Turn HTTP exchanges into calls, and send their replies: the application that the server calls."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from functools import partial

import msgspec

from tollkeeper.core.addresses import Address, AddressBook
from tollkeeper.core.client_ip import is_on_this_machine
from tollkeeper.core.errors import (
    AddressUnknown,
    GatewayError,
    InternalFailure,
    IpBanned,
    Unavailable,
)
from tollkeeper.edge import refusals, shapes
from tollkeeper.edge.call_line import OTHER, ended_call, line_of
from tollkeeper.edge.call_log import CallLog
from tollkeeper.edge.endpoints import Services
from tollkeeper.edge.guard import WRONG_PATH, Guard, refusal_of
from tollkeeper.edge.http.body import drain
from tollkeeper.edge.http.exchange import Before, Exchange, Reply, Sent, answer_no_more
from tollkeeper.edge.http.strict import host_of
from tollkeeper.edge.refusals import CURRENT, FORM_PAGE, Style
from tollkeeper.edge.routes import RouteTable
from tollkeeper.relay.admit import admit
from tollkeeper.server.application import HttpRequest
from tollkeeper.steady import run_and_log, without_content

log = logging.getLogger(__name__)

HEALTH_PATHS = frozenset({"/livez", "/readyz"})
# How long a call that is cut waits until it can be known again: a retry may come at once.
NOTED_WITHIN_SECONDS = 2.0

# What browsers call from the pages of others.
PREFLIGHTED = ("/v1/", "/v2/", "/dashboard/")
PREFLIGHT = Reply(
    b"",
    204,
    (
        (b"access-control-allow-origin", b"*"),
        (b"access-control-allow-methods", b"GET, POST, OPTIONS"),
        # "*" does not cover Authorization, which must be named; nor, in older browsers, anything.
        (b"access-control-allow-headers", b"authorization, idempotency-key, x-max-charge-usd, *"),
        (b"access-control-max-age", b"86400"),
    ),
)


# Of a store that answers.
OK = "ok"


class HealthReport(msgspec.Struct, frozen=True, kw_only=True):
    """What /readyz tells: whether this process can serve calls, and why not."""

    ready: bool
    database: str
    schema: str
    clock: str
    ledger: str
    node: str
    redis: str
    providers: str


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
        health: Callable[[], HealthReport],
        guard: Guard,
    ) -> None:
        self._services = services
        self._routes = routes
        self._book = book
        self._call_log = call_log
        self._health = health
        self._guard = guard

    async def answer(self, request: HttpRequest) -> None:
        now_ms = self._services.relay.clock.unix_milliseconds()
        exchange = Exchange(request, now_ms, self._services.new_request_id(now_ms))
        if exchange.path in HEALTH_PATHS and exchange.method in {"GET", "HEAD"}:
            _send(exchange, self._health_reply(exchange))
            return
        reply = await self._reply(exchange)
        exchange.answer_now = answer_no_more
        if exchange.claim():
            await self._answer(exchange, reply)
        elif exchange.early_answer is not None:
            # The server takes an exchange that ends before its answer has begun for one that failed.
            await exchange.early_answer
        if self._services.on_ended is not None and exchange.line is not None:
            self._services.on_ended(ended_call(exchange, exchange.line))
        if isinstance(reply, Sent) and reply.broken_off:
            request.break_off()

    async def _answer(self, exchange: Exchange, reply: Reply | Sent) -> None:
        """Send a reply that has not gone yet, and write the call's line."""
        if isinstance(reply, Reply):
            if reply.status >= 400 and exchange.code != IpBanned.code:
                await drain(exchange)
            _send(exchange, reply)
        # What is no route of ours may be anything, words and keys included.
        path = self._routes.name(exchange.path) or OTHER
        seconds = time.perf_counter() - exchange.begun
        self._services.relay.figures.answered(path, exchange.code, seconds, exchange.first_byte_seconds)
        exchange.line = line_of(exchange, reply, path, seconds)
        self._call_log.write(exchange.line)

    async def _reply(self, exchange: Exchange) -> Reply | Sent:
        style = CURRENT
        try:
            self._guard.recognise(exchange)
            exchange.address = address = self._address(exchange)
            style = refusals.style_of(self._routes.style(address, exchange.path), exchange)
            exchange.key_header, exchange.id_names = style.key_header, style.id_names
            if exchange.method == "OPTIONS" and f"{exchange.path}/".startswith(PREFLIGHTED):
                return PREFLIGHT
            if exchange.ban is not None:
                await self._pass_ban(exchange, style)
            route = self._routes.find(address, exchange.path, exchange.method)
            exchange.answer_now = partial(self._answer_now, exchange, style)
            reply = await route.endpoint(exchange, self._services)
            if isinstance(reply, Sent):
                return reply
            return msgspec.structs.replace(reply, headers=reply.headers + style.headers)
        except GatewayError as problem:
            if isinstance(problem, WRONG_PATH):
                await self._recognise_key(exchange)
            # Who is banned is told that, and not whether a key is known.
            refusal = refusal_of(exchange) if _is_banned(exchange, problem) else problem
            await self._count(exchange, refusal)
        except Exception as problem:  # The edge must survive: one broken call is one 500.
            log.error("call %s failed: %s", exchange.request_id, without_content(problem))
            refusal = InternalFailure()
        self._keep(exchange, refusal)
        return self._refused(_untied(refusal), exchange, style)

    def _refused(self, refusal: GatewayError, exchange: Exchange, style: Style) -> Reply:
        page = self._services.pages.refused(refusal, exchange) if style is FORM_PAGE else None
        return refusals.as_reply(refusal, exchange, style, page)

    async def _pass_ban(self, exchange: Exchange, style: Style) -> None:
        """Raise IpBanned, unless a good key may come: in the header, or in the body where it is looked for there."""
        relay = self._services.relay
        if style.key_in_body and exchange.method == "POST":
            self._guard.take_lookup(exchange)
        else:
            await self._guard.let_pass(exchange, relay.keys, relay.clock)

    async def _recognise_key(self, exchange: Exchange) -> None:
        """Whoever has a good key has only mistaken the address: that counts as a call, and not toward a ban."""
        relay = self._services.relay
        if exchange.caller is None and exchange.ban is None:
            with contextlib.suppress(GatewayError):
                exchange.called_by(await admit(exchange.authorization, exchange.client, relay.keys, relay.clock))

    async def _count(self, exchange: Exchange, refusal: GatewayError) -> None:
        """What was wrong with a call counts against its IP, and as a call of its key like any other."""
        self._guard.note(exchange, refusal)
        caller, relay = exchange.caller, self._services.relay
        if caller is None or exchange.limit is not None or isinstance(refusal, Unavailable):
            return

        async def take_place() -> None:
            shelf = await relay.catalog.shelf()
            await relay.gate.count(exchange, caller, shelf.rates_of(caller))

        await run_and_log("counting of a call", take_place)

    def _keep(self, exchange: Exchange, refusal: GatewayError) -> None:
        """Support is asked why a call was refused. Of keys that are not known, there is nobody who could ask."""
        caller = exchange.caller
        whose = refusal.whose if caller is None else (caller.account_id, caller.key_id)
        if whose is not None and self._services.on_refused is not None:
            self._services.on_refused(exchange.request_id, *whose, type(refusal).code)

    def _answer_now(self, exchange: Exchange, style: Style, refusal: GatewayError, before: Before | None) -> None:
        if exchange.claim():
            refused = self._refused(refusal, exchange, style)
            exchange.early_answer = asyncio.ensure_future(self._answer_early(exchange, refused, before))

    async def _answer_early(self, exchange: Exchange, refused: Reply, before: Before | None) -> None:
        if before is not None:
            # It goes on behind the answer where it takes longer.
            noting = asyncio.ensure_future(run_and_log("noting of a call that is cut", before))
            await asyncio.wait({noting}, timeout=NOTED_WITHIN_SECONDS)
        await self._answer(exchange, refused)

    def _address(self, exchange: Exchange) -> Address:
        address = self._book.find(host_of(exchange))
        if address is None:
            raise AddressUnknown
        return address

    def _health_reply(self, exchange: Exchange) -> Reply:
        if exchange.path == "/livez":
            return Reply(b'{"alive":true}')
        health = self._health()
        is_here = is_on_this_machine(exchange.peer, lambda name: bool(exchange.header_lines(name.encode())))
        told = health if is_here else Readiness(ready=health.ready)
        return Reply(shapes.encode(told), 200 if health.ready else 503)


def _send(exchange: Exchange, reply: Reply) -> None:
    headers = [
        *reply.headers,
        *exchange.id_headers(),
        *exchange.limit_headers(),
        (b"cache-control", reply.caching),
    ]
    if exchange.method == "HEAD" and reply.status != 304:
        # Of the body that is not sent. (Beside 304 it would be that of the body which the client has already.)
        headers.append((b"content-length", str(len(reply.body)).encode()))
    exchange.http.answer(reply.status, headers, reply.body)


def _untied(refusal: GatewayError) -> GatewayError:
    """Without the frames that it came through: a variable of one holds it, and with it the body that was refused."""
    refusal.__context__ = refusal.__cause__ = None
    return refusal.with_traceback(None)


def _is_banned(exchange: Exchange, refusal: GatewayError) -> bool:
    return exchange.ban is not None and exchange.caller is None and not isinstance(refusal, Unavailable)
