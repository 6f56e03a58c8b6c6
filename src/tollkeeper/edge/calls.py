"""The calls that are relayed to providers: chat, images, speech, transcripts, embeddings; their answers as HTTP."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Generic, Self

import msgspec

from tollkeeper.core.addresses import Address
from tollkeeper.core.calls.image_edit import ImageForm
from tollkeeper.core.calls.media import Upload
from tollkeeper.core.calls.native import Spoken
from tollkeeper.core.dialects.messages.order import HEADERS
from tollkeeper.core.errors import (
    AccountInDebt,
    AccountShort,
    EdgeTimeout,
    GatewayError,
    KeyShort,
    LoopDetected,
    StreamBroken,
)
from tollkeeper.core.money import balance
from tollkeeper.core.money.amounts import usd_exact
from tollkeeper.core.money.charge import Ending
from tollkeeper.edge import refusals, shapes
from tollkeeper.edge.endpoints import Services
from tollkeeper.edge.http import asgi
from tollkeeper.edge.http.body import ONE_BODY_BYTES, KeptBody
from tollkeeper.edge.http.exchange import JSON, Exchange, Reply, Sent
from tollkeeper.edge.http.outgoing import EVENTS, EventStream
from tollkeeper.edge.http.upload import UPLOAD_BYTES_MOST, read_image_form, read_upload
from tollkeeper.edge.refusals import ANTHROPIC, CURRENT, Style
from tollkeeper.metrics.calls import CLIENT_LEFT
from tollkeeper.relay.answers.whole import AnswerForm, AnyAnswer, OrderType
from tollkeeper.relay.aside import Came
from tollkeeper.relay.call import Call, ClientLeft
from tollkeeper.relay.count_tokens import count_tokens
from tollkeeper.relay.dispatch.dispatch import LOOP_HEADER
from tollkeeper.relay.operations import (
    CHAT,
    EMBEDDING,
    IMAGE,
    IMAGE_EDIT,
    MESSAGES,
    RESPONSES,
    SPEECH,
    TRANSCRIPTION,
    TRANSLATION,
    Operation,
)
from tollkeeper.relay.pipeline import serve
from tollkeeper.steady import without_content

log = logging.getLogger(__name__)

JSON_BODY_BYTES_MOST = ONE_BODY_BYTES
# When it is first looked whether the client is still there: short calls are over by then and need not be watched.
WATCH_AFTER_SECONDS = 0.25
CHARGED = b"x-charged-usd"
LOOP = LOOP_HEADER.encode()
# What is written to the log where nobody was left to be answered, as nginx does.
CLIENT_CLOSED = 499


class Relayed(msgspec.Struct, Generic[Came, OrderType], frozen=True):
    """An endpoint: what is asked there, and how its body is read."""

    operation: Operation[Came, OrderType]
    read: Callable[[KeptBody, Exchange], Awaitable[Came]]
    limit_bytes: int = JSON_BODY_BYTES_MOST
    # How what goes wrong inside a stream is told there.
    style: Style = CURRENT

    async def __call__(self, exchange: Exchange, services: Services) -> Reply | Sent:
        if exchange.header(LOOP) == services.loop_mark:
            raise LoopDetected
        can_pay = partial(require_quota, exchange, services)
        kept = services.bodies.kept(exchange, limit_bytes=self.limit_bytes, can_pay=can_pay)
        call = Call(exchange, kept.let_go)
        stream = EventStream(
            exchange,
            keep_alive_seconds=services.keep_alive_seconds,
            stuck_seconds=services.relay.timeouts.longest_seconds,
            keep_alive=self.style.keep_alive,
        )
        serving = serve(call, self.operation, partial(self.read, kept, exchange), services.relay)
        try:
            return await _send(serving, call, exchange, services, stream)
        except ClientLeft:
            exchange.code = CLIENT_LEFT
            return Sent(CLIENT_CLOSED, stream.sent_bytes)
        except Exception as problem:  # Once an answer has begun, whatever it was has to be told inside it.
            if not stream.begun:
                raise
            return await _end_with_error(problem, exchange, stream, call, self.style)
        finally:
            kept.let_go()


async def require_quota(exchange: Exchange, services: Services) -> None:
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


async def _spoken(kept: KeptBody, exchange: Exchange) -> Spoken:
    """The body, and the headers that belong to an order of Messages. A header may stand in several lines."""
    lines = {name: b",".join(exchange.header_lines(name.encode())).decode("latin-1") for name in HEADERS}
    return Spoken(await kept.read(), lines)


async def _upload(kept: KeptBody, exchange: Exchange) -> Upload:
    return await read_upload(kept, exchange.header(b"content-type"))


async def _image_form(kept: KeptBody, exchange: Exchange) -> ImageForm:
    return await read_image_form(kept, exchange.header(b"content-type"))


chat_completions = Relayed(CHAT, _json_body)
messages = Relayed(MESSAGES, _spoken, style=ANTHROPIC)
responses = Relayed(RESPONSES, _json_body)
image_generations = Relayed(IMAGE, _json_body)
image_edits = Relayed(IMAGE_EDIT, _image_form, UPLOAD_BYTES_MOST)
embeddings = Relayed(EMBEDDING, _json_body)
speech = Relayed(SPEECH, _json_body)
transcriptions = Relayed(TRANSCRIPTION, _upload, UPLOAD_BYTES_MOST)
translations = Relayed(TRANSLATION, _upload, UPLOAD_BYTES_MOST)


async def message_tokens(exchange: Exchange, services: Services) -> Reply:
    """What an order of Messages comes to. It is free, for those who could pay for a call."""
    kept = services.bodies.kept(exchange, limit_bytes=JSON_BODY_BYTES_MOST)

    async def read() -> Spoken:
        await require_quota(exchange, services)
        return await _spoken(kept, exchange)

    try:
        counted = await count_tokens(exchange, read, services.relay)
    finally:
        kept.let_go()
    return Reply(shapes.token_count(counted))


async def _send(
    serving: AbstractAsyncContextManager[AnyAnswer],
    call: Call,
    exchange: Exchange,
    services: Services,
    stream: EventStream,
) -> Reply | Sent:
    async with serving as answer:
        with ClientWatch(exchange, answer.client_left):
            stream.content_type = EVENTS if answer.form is AnswerForm.EVENTS else answer.content_type
            if answer.form is AnswerForm.EVENTS:
                return await _stream(answer, exchange, stream)
            with Cut(call, exchange, services.relay.timeouts.cut_seconds):
                first = await answer.read()
                if answer.form is AnswerForm.WHOLE:
                    return Reply(first, headers=(*JSON, (CHARGED, usd_exact(answer.charged).encode())))
            if answer.known_charge is not None:
                stream.more_headers = ((CHARGED, usd_exact(answer.known_charge).encode()),)
            return await _pass(first, answer, exchange, stream)


async def _stream(answer: AnyAnswer, exchange: Exchange, stream: EventStream) -> Sent:
    async with stream.kept_alive(answer.client_stuck):
        events = await answer.read()
        exchange.note_first_byte()
        while events:
            await stream.write(events)
            events = await answer.read()
    # Inside the block that settles the bill: the caller's last byte does not wait for it.
    await stream.write_last(b"")
    return Sent(200, stream.sent_bytes)


async def _pass(first: bytes, answer: AnyAnswer, exchange: Exchange, stream: EventStream) -> Sent:
    """Piece by piece, to a caller who has not been answered otherwise meanwhile."""
    is_heard, piece = not exchange.answered, first
    exchange.note_first_byte()
    while piece:
        if is_heard:
            await stream.write(piece)
        piece = await answer.read()
    if is_heard:
        await stream.write_last(b"")
    return Sent(200, stream.sent_bytes)


async def _end_with_error(
    problem: Exception, exchange: Exchange, stream: EventStream, call: Call, style: Style
) -> Sent:
    refusal = problem if isinstance(problem, GatewayError) else StreamBroken()
    if refusal is not problem:
        log.error("call %s failed: %s", exchange.request_id, without_content(problem))
    refusals.note_code(refusal, exchange)
    if stream.content_type != EVENTS:
        return Sent(200, stream.sent_bytes, broken_off=True)
    write = call.write_failure
    await stream.write_last(refusals.as_last_events(refusal, exchange, style) if write is None else write(refusal))
    return Sent(200, stream.sent_bytes)


class Cut:
    """On the main address, while this is open: answer 524 after a while. The call goes on without its caller, and is
    charged."""

    __slots__ = ("_call", "_exchange", "_timer")

    def __init__(self, call: Call, exchange: Exchange, seconds: float) -> None:
        self._call = call
        self._exchange = exchange
        has_none = exchange.address is Address.BACKUP
        self._timer = None if has_none else asyncio.get_running_loop().call_later(seconds, self._now)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _now(self) -> None:
        if self._call.ended_as is None:
            self._call.goes_on(Ending.CUT)
            self._exchange.answer_now(EdgeTimeout(), self._call.before_cut)


class ClientWatch:
    """While this is open, `on_disconnect` is called when the client hangs up; in the first moments, at their end."""

    __slots__ = ("_exchange", "_on_disconnect", "_timer", "_watching")

    def __init__(self, exchange: Exchange, on_disconnect: Callable[[], None]) -> None:
        self._exchange = exchange
        self._on_disconnect = on_disconnect
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
        while not asgi.is_disconnect(await self._exchange.receive()):
            pass
        if not self._exchange.answered:
            self._on_disconnect()
