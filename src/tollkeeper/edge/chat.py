"""POST /v1/chat/completions: the relay's answers as HTTP."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from tollkeeper.core.addresses import Address
from tollkeeper.core.charge import Ending
from tollkeeper.core.errors import EdgeTimeout, GatewayError
from tollkeeper.core.money import usd_exact
from tollkeeper.core.sse import DONE, event
from tollkeeper.edge import shapes
from tollkeeper.edge.endpoints import Services, note_caller
from tollkeeper.edge.event_stream import EventStream
from tollkeeper.edge.exchange import Exchange, Reply, Sent
from tollkeeper.relay.answer import Answer
from tollkeeper.relay.call import Call, ClientLeft
from tollkeeper.relay.pipeline import serve

JSON_BODY_BYTES_MOST = 32 * 1024 * 1024
# What is written to the log where nobody was left to be answered, as nginx does.
CLIENT_CLOSED = 499


async def chat_completions(exchange: Exchange, services: Services) -> Reply | Sent:
    call = Call(
        exchange.request_id,
        exchange.address or Address.MAIN,
        exchange.header(b"authorization"),
        lambda: services.bodies.read(exchange, limit_bytes=JSON_BODY_BYTES_MOST),
        lambda caller: note_caller(exchange, caller),
    )
    stream = EventStream(
        exchange,
        keep_alive_seconds=services.keep_alive_seconds,
        stuck_seconds=services.relay.limits.longest_seconds,
    )
    try:
        async with serve(call, services.relay) as answer, told_of_leaving(exchange, answer.client_left):
            if answer.streamed:
                return await _stream(answer, stream)
            with cut(call, exchange, services.relay.limits.cut_seconds):
                return await _whole(answer)
    except ClientLeft:
        exchange.code = "client_left"
        return Sent(CLIENT_CLOSED, stream.sent_bytes)
    except GatewayError as refusal:
        if not stream.begun:
            raise
        # The status line is gone: what happened is told inside the stream, which then ends as every stream does.
        exchange.code = refusal.code
        await stream.write(event(shapes.error(refusal)) + DONE, last=True)
        return Sent(200, stream.sent_bytes)


async def _stream(answer: Answer, stream: EventStream) -> Sent:
    with stream.kept_alive(answer.client_left):
        while events := await answer.read():
            await stream.write(events)
    # Inside the block that settles the bill: the caller's last byte does not wait for it.
    await stream.write(b"", last=True)
    return Sent(200, stream.sent_bytes)


async def _whole(answer: Answer) -> Reply:
    body = await answer.read()
    charged = (b"x-charged-usd", usd_exact(answer.charged).encode())
    return Reply(body, headers=(*Reply(b"").headers, charged))


@contextmanager
def cut(call: Call, exchange: Exchange, seconds: float) -> Iterator[None]:
    """On the main address, answer 524 after a while. The call goes on without its caller, and is charged."""

    def now() -> None:
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
