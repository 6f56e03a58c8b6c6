"""The operations: what can be asked, how each is read, measured and answered. One row each."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Generic

import msgspec

from tollkeeper.core.calls.chat import ChatOrder, read_chat
from tollkeeper.core.calls.embedding import EmbeddingOrder, read_embedding
from tollkeeper.core.calls.image_edit import read_image_edit
from tollkeeper.core.calls.image_tokens import AUTO, INPUT_IMAGE_TOKENS, output_tokens_each
from tollkeeper.core.calls.media import (
    AudioOrder,
    ImageOrder,
    SpeechOrder,
    read_image,
    read_speech,
    read_transcription,
    read_translation,
    seconds_begun,
)
from tollkeeper.core.catalog.models import Kind, Offer
from tollkeeper.core.dialects.answer_writer import AnswerHeading
from tollkeeper.core.dialects.messages.answer_writer import MessagesWriter
from tollkeeper.core.dialects.messages.order import read_messages
from tollkeeper.core.dialects.responses.answer_writer import ResponsesWriter
from tollkeeper.core.dialects.responses.order import NativeResponses, read_responses
from tollkeeper.core.keys import KeyRecord
from tollkeeper.core.money.parts import Part
from tollkeeper.core.money.quote import Ask
from tollkeeper.ports import AudioLengths
from tollkeeper.relay.answers.dialects import DialectStream, DialectWhole, dialect_answer
from tollkeeper.relay.answers.gathered import EmbeddingAnswer, image_answer
from tollkeeper.relay.answers.media import SpeechAnswer, TranscriptAnswer
from tollkeeper.relay.answers.streamed import StreamedAnswer
from tollkeeper.relay.answers.whole import Answer, Dispatch, OrderType, WholeAnswer
from tollkeeper.relay.aside import Came
from tollkeeper.relay.bill import Bill
from tollkeeper.relay.by_bound import AskedInput, QuotaInPlenty
from tollkeeper.relay.call import Call
from tollkeeper.relay.count_input import InputCounter, check_answer_size, read_ask


class Measures(msgspec.Struct, frozen=True):
    """What finds out how much is asked."""

    counter: InputCounter
    lengths: AudioLengths
    plenty: QuotaInPlenty

    def asked(self, ask: Ask, order: object, caller: KeyRecord) -> AskedInput:
        return AskedInput(ask, order, caller, self.counter, self.plenty)


class Operation(msgspec.Struct, Generic[Came, OrderType], frozen=True, kw_only=True):
    """What belongs to one order: a row in which another order's reader or answer stands is an error to the type
    checker."""

    kind: Kind
    # Parse what came into an order; raises 400.
    read: Callable[[Came], OrderType]
    # How much is asked, once it is known to be on offer, and whether that must be counted; raises 400, 503.
    ask: Callable[[OrderType, Offer, KeyRecord, Measures, bool], Awaitable[Ask]]
    # The answer that an order gets: the class, or what chooses one.
    answer: Callable[[Call, OrderType, Bill, Dispatch, float], Answer[OrderType, Any]]


async def ask_chat(order: ChatOrder, offer: Offer, caller: KeyRecord, measures: Measures, exactly: bool) -> Ask:
    check_answer_size(order, offer.model)
    bound = None if exactly else measures.plenty.ask(order, offer, caller)
    return bound or await read_ask(order, offer.model, measures.counter, owner=caller.account_id)


async def ask_image(order: ImageOrder, offer: Offer, caller: KeyRecord, measures: Measures, exactly: bool) -> Ask:
    model = offer.model
    order.check(model.media)
    if not model.has_one_price:
        return Ask(input_units=order.n, measured=True)
    each = output_tokens_each(order.asked_size or AUTO, order.asked_quality or AUTO)
    order.tokens_each = min(each, model.token_caps.max_output_tokens)
    (prompt_tokens,) = await measures.counter.count_each([order.prompt], owner=caller.account_id)
    image_tokens = min(model.token_caps.hold_part_tokens, INPUT_IMAGE_TOKENS)
    return Ask(
        input_units=prompt_tokens + image_tokens * order.images,
        likely_output_tokens=order.tokens_each,
        n=order.n,
        has_media=order.images > 0,
        media_tokens=(INPUT_IMAGE_TOKENS - image_tokens) * order.images,
        parts=frozenset({Part.IMAGE_OUTPUT}),
    )


async def ask_embedding(
    order: EmbeddingOrder, offer: Offer, caller: KeyRecord, measures: Measures, exactly: bool
) -> Ask:
    counts = await measures.counter.count_each(order.texts, owner=caller.account_id) or [*map(len, order.token_lists)]
    order.check_lengths(counts, offer.model.token_caps.context_tokens)
    order.counted_tokens = sum(counts)
    return Ask(input_units=order.counted_tokens, max_output_tokens=0, n=order.inputs)


async def ask_speech(order: SpeechOrder, offer: Offer, caller: KeyRecord, measures: Measures, exactly: bool) -> Ask:
    order.check(offer.model.media)
    return Ask(input_units=order.characters, measured=True)


async def ask_audio(order: AudioOrder, offer: Offer, caller: KeyRecord, measures: Measures, exactly: bool) -> Ask:
    file, filename = order.upload.file, order.upload.filename
    milliseconds = await measures.lengths.milliseconds(file, filename, owner=caller.account_id)
    return Ask(input_units=seconds_begun(milliseconds), measured=True)


def chat_answer(
    call: Call, order: ChatOrder, bill: Bill, dispatch: Dispatch, drain_seconds: float
) -> StreamedAnswer | WholeAnswer:
    made = StreamedAnswer if order.stream else WholeAnswer
    return made(call, order, bill, dispatch, drain_seconds)


def responses_answer(
    call: Call, order: ChatOrder, bill: Bill, dispatch: Dispatch, drain_seconds: float
) -> DialectStream | DialectWhole:
    """Answer in responses. What they repeat of their order is kept; the order itself is not."""
    native = order.native
    if not isinstance(native, NativeResponses):
        raise TypeError(native)
    echo, tools = native.echo, native.tools.names

    def new_writer(heading: AnswerHeading) -> ResponsesWriter:
        writer = ResponsesWriter(heading, echo, tools)
        call.write_failure = writer.fail
        return writer

    return dialect_answer(new_writer, call, order, bill, dispatch, drain_seconds)


messages_answer = partial(dialect_answer, MessagesWriter)

CHAT = Operation(kind=Kind.CHAT, read=read_chat, ask=ask_chat, answer=chat_answer)
MESSAGES = Operation(kind=Kind.CHAT, read=read_messages, ask=ask_chat, answer=messages_answer)
RESPONSES = Operation(kind=Kind.CHAT, read=read_responses, ask=ask_chat, answer=responses_answer)
IMAGE = Operation(kind=Kind.IMAGE, read=read_image, ask=ask_image, answer=image_answer)
IMAGE_EDIT = Operation(kind=Kind.IMAGE, read=read_image_edit, ask=ask_image, answer=image_answer)
SPEECH = Operation(kind=Kind.SPEECH, read=read_speech, ask=ask_speech, answer=SpeechAnswer)
TRANSCRIPTION = Operation(kind=Kind.TRANSCRIPTION, read=read_transcription, ask=ask_audio, answer=TranscriptAnswer)
TRANSLATION = Operation(kind=Kind.TRANSCRIPTION, read=read_translation, ask=ask_audio, answer=TranscriptAnswer)
EMBEDDING = Operation(kind=Kind.EMBEDDING, read=read_embedding, ask=ask_embedding, answer=EmbeddingAnswer)
