"""The calls that are relayed to providers: chat, images, speech, transcripts, embeddings; their answers as HTTP."""

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Generic

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
from tollkeeper.edge import refusals, shapes
from tollkeeper.edge.endpoints import Services
from tollkeeper.edge.http.body import ONE_BODY_BYTES, KeptBody
from tollkeeper.edge.http.exchange import JSON, Exchange, Reply, Sent
from tollkeeper.edge.http.outgoing import EVENTS, Outgoing
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
from tollkeeper.server.application import ignore
from tollkeeper.steady import without_content

log = logging.getLogger(__name__)

JSON_BODY_BYTES_MOST = ONE_BODY_BYTES
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
        stream = Outgoing(
            exchange,
            keep_alive_seconds=services.keep_alive_seconds,
            stuck_seconds=services.relay.timeouts.longest_seconds,
            keep_alive=self.style.keep_alive,
        )
        read, send = partial(self.read, kept, exchange), partial(_send, call, exchange, services, stream)
        try:
            return await serve(call, self.operation, read, services.relay, send)
        except ClientLeft:
            exchange.code = CLIENT_LEFT
            return Sent(CLIENT_CLOSED, stream.sent_bytes)
        except Exception as problem:  # Once an answer has begun, whatever it was has to be told inside it.
            if not stream.begun:
                raise
            return await _end_with_error(problem, exchange, stream, call, self.style)
        finally:
            call.forget_body()


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


def _json_body(kept: KeptBody, exchange: Exchange) -> Awaitable[bytes]:
    return kept.read()


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
    call: Call, exchange: Exchange, services: Services, stream: Outgoing, answer: AnyAnswer
) -> Reply | Sent:
    exchange.when_left(answer.client_left)
    try:
        if answer.form is AnswerForm.EVENTS:
            stream.content_type = EVENTS
            return await _stream(answer, exchange, stream)
        stream.content_type = answer.content_type
        if exchange.address is not Address.BACKUP:
            call.later(services.relay.timeouts.cut_seconds, partial(_cut, call, exchange))
        first = await answer.read()
        call.has_answer = True
        if answer.form is AnswerForm.WHOLE:
            return Reply(first, headers=(*JSON, (CHARGED, usd_exact(answer.charged).encode())))
        if answer.known_charge is not None:
            stream.more_headers = ((CHARGED, usd_exact(answer.known_charge).encode()),)
        return await _pass(first, answer, exchange, stream)
    finally:
        exchange.http.on_left = ignore


def _cut(call: Call, exchange: Exchange) -> None:
    """On the main address, time is over: answer 524. The call goes on without its caller, and is charged."""
    if call.ended_as is None and not call.has_answer:
        exchange.answer_now(EdgeTimeout(), call.cut())


async def _stream(answer: AnyAnswer, exchange: Exchange, stream: Outgoing) -> Sent:
    with stream.kept_alive(answer.client_stuck):
        events = await answer.read()
        exchange.note_first_byte()
        answer.outlet = stream.put
        while events:
            await stream.write(events)
            events = await answer.read()
    # Inside the block that settles the bill: the caller's last byte does not wait for it.
    stream.write_last(b"")
    return Sent(200, stream.sent_bytes)


async def _pass(first: bytes, answer: AnyAnswer, exchange: Exchange, stream: Outgoing) -> Sent:
    """Piece by piece, to a caller who has not been answered otherwise meanwhile."""
    is_heard, piece = not exchange.answered, first
    exchange.note_first_byte()
    while piece:
        if is_heard:
            await stream.write(piece)
        piece = await answer.read()
    if is_heard:
        stream.write_last(b"")
    return Sent(200, stream.sent_bytes)


async def _end_with_error(problem: Exception, exchange: Exchange, stream: Outgoing, call: Call, style: Style) -> Sent:
    refusal = problem if isinstance(problem, GatewayError) else StreamBroken()
    if refusal is not problem:
        log.error("call %s failed: %s", exchange.request_id, without_content(problem))
    refusals.note_code(refusal, exchange)
    if stream.content_type != EVENTS:
        return Sent(200, stream.sent_bytes, broken_off=True)
    write = call.write_failure
    stream.write_last(refusals.as_last_events(refusal, exchange, style) if write is None else write(refusal))
    return Sent(200, stream.sent_bytes)
