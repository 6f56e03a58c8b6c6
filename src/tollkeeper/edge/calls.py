"""The calls that are relayed to providers: chat, images, speech, transcripts; their answers as HTTP."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Self

import msgspec

from tollkeeper.core import balance
from tollkeeper.core.addresses import Address
from tollkeeper.core.charge import Ending
from tollkeeper.core.errors import (
    AccountInDebt,
    AccountShort,
    EdgeTimeout,
    GatewayError,
    KeyShort,
    LoopDetected,
    StreamBroken,
)
from tollkeeper.core.media import Upload
from tollkeeper.core.money import usd_exact
from tollkeeper.core.sse import DONE, event
from tollkeeper.edge import shapes
from tollkeeper.edge.body import ONE_BODY_BYTES, KeptBody
from tollkeeper.edge.endpoints import Services
from tollkeeper.edge.exchange import JSON, Exchange, Reply, Sent
from tollkeeper.edge.outgoing import EVENTS, EventStream
from tollkeeper.edge.upload import UPLOAD_BYTES_MOST, read_upload
from tollkeeper.relay.answer import AnyAnswer, Form
from tollkeeper.relay.call import Call, ClientLeft
from tollkeeper.relay.dispatch import LOOP_HEADER
from tollkeeper.relay.operations import CHAT, IMAGE, SPEECH, TRANSCRIPTION, TRANSLATION, Operation
from tollkeeper.relay.pipeline import serve
from tollkeeper.steady import without_content

log = logging.getLogger(__name__)

JSON_BODY_BYTES_MOST = ONE_BODY_BYTES
# When it is first looked whether the client is still there: short calls are over by then and need not be watched.
WATCH_AFTER_SECONDS = 0.25
LOOP = LOOP_HEADER.encode()
# What is written to the log where nobody was left to be answered, as nginx does.
CLIENT_CLOSED = 499

Read = Callable[[KeptBody, Exchange], Awaitable[object]]


class Relayed(msgspec.Struct, frozen=True):
    """An endpoint: what is asked there, and how its body is read."""

    operation: Operation
    read: Read
    limit_bytes: int = JSON_BODY_BYTES_MOST

    async def __call__(self, exchange: Exchange, services: Services) -> Reply | Sent:
        if exchange.header(LOOP) == services.loop_mark:
            raise LoopDetected
        can_pay = partial(_require_quota, exchange, services)
        kept = services.bodies.kept(exchange, limit_bytes=self.limit_bytes, can_pay=can_pay)
        call = Call(
            exchange.request_id,
            exchange.address or Address.MAIN,
            exchange.header(b"authorization"),
            lambda: self.read(kept, exchange),
            exchange.called_by,
        )
        call.client, call.ip, call.limits_told = exchange.client, exchange.ip, exchange.limits_told
        call.let_go_of_body = kept.let_go
        stream = EventStream(
            exchange,
            keep_alive_seconds=services.keep_alive_seconds,
            stuck_seconds=services.relay.limits.longest_seconds,
        )
        try:
            return await _serve(call, self.operation, exchange, services, stream)
        except ClientLeft:
            exchange.code = "client_left"
            return Sent(CLIENT_CLOSED, stream.sent_bytes)
        except Exception as problem:  # Once an answer has begun, whatever it was has to be told inside it.
            if not stream.begun:
                raise
            return await _tell_late(problem, exchange, stream)
        finally:
            kept.let_go()
            if call.passage is not None:
                services.relay.gate.limiter.ended(call.passage, call.output_tokens)


async def _require_quota(exchange: Exchange, services: Services) -> None:
    """Raise InsufficientQuota where a caller could not pay for the smallest call."""
    if exchange.caller is None:
        return
    standing = await services.balances.standing(exchange.caller.key_id)
    if standing.debt > 0:
        raise AccountInDebt
    if not standing.free_lots + standing.lots_bound_to_key:
        raise AccountShort
    if not balance.of_key(standing).remaining:
        raise KeyShort


async def _json_body(kept: KeptBody, exchange: Exchange) -> bytes:
    return await kept.read()


async def _upload(kept: KeptBody, exchange: Exchange) -> Upload:
    return await read_upload(kept, exchange.header(b"content-type"))


chat_completions = Relayed(CHAT, _json_body)
image_generations = Relayed(IMAGE, _json_body)
speech = Relayed(SPEECH, _json_body)
transcriptions = Relayed(TRANSCRIPTION, _upload, UPLOAD_BYTES_MOST)
translations = Relayed(TRANSLATION, _upload, UPLOAD_BYTES_MOST)


async def _serve(
    call: Call, operation: Operation, exchange: Exchange, services: Services, stream: EventStream
) -> Reply | Sent:
    async with serve(call, operation, services.relay) as answer:
        with ClientWatch(exchange, answer.client_left):
            stream.content_type = EVENTS if answer.form is Form.EVENTS else answer.content_type
            if answer.form is Form.EVENTS:
                return await _stream(answer, stream)
            with Cut(call, exchange, services.relay.limits.cut_seconds):
                first = await answer.read()
                if answer.form is Form.WHOLE:
                    return Reply(first, headers=(*JSON, (b"x-charged-usd", usd_exact(answer.charged).encode())))
            return await _pass(first, answer, exchange, stream)


async def _stream(answer: AnyAnswer, stream: EventStream) -> Sent:
    async with stream.kept_alive(answer.client_stuck):
        while events := await answer.read():
            await stream.write(events)
    # Inside the block that settles the bill: the caller's last byte does not wait for it.
    await stream.write_last(b"")
    return Sent(200, stream.sent_bytes)


async def _pass(first: bytes, answer: AnyAnswer, exchange: Exchange, stream: EventStream) -> Sent:
    """Piece by piece, to a caller who has not been answered otherwise meanwhile."""
    is_heard, piece = not exchange.answered, first
    while piece:
        if is_heard:
            await stream.write(piece)
        piece = await answer.read()
    if is_heard:
        await stream.write_last(b"")
    return Sent(200, stream.sent_bytes)


async def _tell_late(problem: Exception, exchange: Exchange, stream: EventStream) -> Sent:
    refusal = problem if isinstance(problem, GatewayError) else StreamBroken()
    if refusal is not problem:
        log.error("call %s failed: %s", exchange.request_id, without_content(problem))
    # Our own code, for the log: an instance may have the provider's, which can be a word of the caller's.
    exchange.code = type(refusal).code
    if stream.content_type != EVENTS:
        return Sent(200, stream.sent_bytes, broken_off=True)
    await stream.write_last(event(shapes.error(refusal)) + DONE)
    return Sent(200, stream.sent_bytes)


class Cut:
    """On the main address, while this is open: answer 524 after a while. The call goes on without its caller, and is
    charged."""

    __slots__ = ("_call", "_exchange", "_timer")

    def __init__(self, call: Call, exchange: Exchange, seconds: float) -> None:
        self._call = call
        self._exchange = exchange
        has_none = call.address is Address.BACKUP
        self._timer = None if has_none else asyncio.get_running_loop().call_later(seconds, self._now)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _now(self) -> None:
        if self._call.ended_as is None:
            self._call.goes_on(Ending.CUT)
            self._exchange.refuse_early(EdgeTimeout())


class ClientWatch:
    """While this is open, `tell` is called when the client hangs up; in the first moments, at their end."""

    __slots__ = ("_exchange", "_tell", "_timer", "_watching")

    def __init__(self, exchange: Exchange, tell: Callable[[], None]) -> None:
        self._exchange = exchange
        self._tell = tell
        self._watching: asyncio.Task[None] | None = None
        self._timer = asyncio.get_running_loop().call_later(WATCH_AFTER_SECONDS, self._begin)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        if self._watching is not None:
            self._watching.cancel()

    def _begin(self) -> None:
        self._watching = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        while (await self._exchange.receive())["type"] != "http.disconnect":
            pass
        if not self._exchange.answered:
            self._tell()
