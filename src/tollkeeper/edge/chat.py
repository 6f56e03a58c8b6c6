"""POST /v1/chat/completions: the relay's answers as HTTP."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from tollkeeper.core.addresses import Address
from tollkeeper.core.charge import Ending
from tollkeeper.core.errors import EdgeTimeout, GatewayError, LoopDetected, StreamBroken
from tollkeeper.core.money import usd_exact
from tollkeeper.core.sse import DONE, event
from tollkeeper.edge import shapes
from tollkeeper.edge.endpoints import Services, note_caller
from tollkeeper.edge.event_stream import EventStream
from tollkeeper.edge.exchange import JSON, Exchange, Reply, Sent
from tollkeeper.relay.answer import Answer
from tollkeeper.relay.call import Call, ClientLeft
from tollkeeper.relay.dispatch import LOOP_HEADER
from tollkeeper.relay.pipeline import serve
from tollkeeper.steady import without_content

log = logging.getLogger(__name__)

JSON_BODY_BYTES_MOST = 32 * 1024 * 1024
# What is written to the log where nobody was left to be answered, as nginx does.
CLIENT_CLOSED = 499


async def chat_completions(exchange: Exchange, services: Services) -> Reply | Sent:
    if exchange.header(LOOP_HEADER.encode()) == services.loop_mark:
        raise LoopDetected
    kept = services.bodies.kept(exchange, limit_bytes=JSON_BODY_BYTES_MOST)
    call = Call(
        exchange.request_id,
        exchange.address or Address.MAIN,
        exchange.header(b"authorization"),
        kept.read,
        lambda caller: note_caller(exchange, caller),
    )
    call.let_go_of_body = kept.let_go
    stream = EventStream(
        exchange,
        keep_alive_seconds=services.keep_alive_seconds,
        stuck_seconds=services.relay.limits.longest_seconds,
    )
    try:
        return await _serve(call, exchange, services, stream)
    except ClientLeft:
        exchange.code = "client_left"
        return Sent(CLIENT_CLOSED, stream.sent_bytes)
    except Exception as problem:  # Once a stream has begun, whatever it was has to be told inside it.
        if not stream.begun:
            raise
        refusal = problem if isinstance(problem, GatewayError) else StreamBroken()
        if refusal is not problem:
            log.error("call %s failed: %s", exchange.request_id, without_content(problem))
        exchange.code = refusal.code
        await stream.write_last(event(shapes.error(refusal)) + DONE)
        return Sent(200, stream.sent_bytes)
    finally:
        kept.let_go()


async def _serve(call: Call, exchange: Exchange, services: Services, stream: EventStream) -> Reply | Sent:
    async with serve(call, services.relay) as answer, told_of_leaving(exchange, answer.client_left):
        if answer.streamed:
            return await _stream(answer, stream)
        with cut(call, exchange, services.relay.limits.cut_seconds):
            return await _whole(answer)


async def _stream(answer: Answer, stream: EventStream) -> Sent:
    async with stream.kept_alive(answer.client_stuck):
        while events := await answer.read():
            await stream.write(events)
    # Inside the block that settles the bill: the caller's last byte does not wait for it.
    await stream.write_last(b"")
    return Sent(200, stream.sent_bytes)


async def _whole(answer: Answer) -> Reply:
    body = await answer.read()
    return Reply(body, headers=(*JSON, (b"x-charged-usd", usd_exact(answer.charged).encode())))


@contextmanager
def cut(call: Call, exchange: Exchange, seconds: float) -> Iterator[None]:
    """On the main address, answer 524 after a while. The call goes on without its caller, and is charged."""

    def now() -> None:
        if call.ended_as is None:
            call.goes_on(Ending.CUT)
            exchange.refuse_early(EdgeTimeout())

    timer = None if call.address is Address.BACKUP else asyncio.get_running_loop().call_later(seconds, now)
    try:
        yield
    finally:
        if timer is not None:
            timer.cancel()


@asynccontextmanager
async def told_of_leaving(exchange: Exchange, tell: Callable[[], None]) -> AsyncIterator[None]:
    """While this is open, `tell` is called when the client hangs up."""

    async def watch() -> None:
        while (await exchange.receive())["type"] != "http.disconnect":
            pass
        if not exchange.answered:
            tell()

    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        watching.cancel()
