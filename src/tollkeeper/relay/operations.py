"""The operations: what can be asked, how each is read, measured and answered. One row each."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from tollkeeper.core.catalog import Kind, Model
from tollkeeper.core.chat import ChatOrder, read_chat
from tollkeeper.core.keys import KeyRecord
from tollkeeper.core.media import (
    AudioOrder,
    ImageOrder,
    SpeechOrder,
    read_image,
    read_speech,
    read_transcription,
    read_translation,
    seconds_begun,
)
from tollkeeper.core.quote import Ask
from tollkeeper.ports import AudioLengths
from tollkeeper.relay.count_input import InputCounter, read_ask
from tollkeeper.relay.media_answer import ImageAnswer, SpeechAnswer, TranscriptAnswer
from tollkeeper.relay.streamed_answer import chat_answer


class Measures(msgspec.Struct, frozen=True):
    """What finds out how much is asked."""

    counter: InputCounter
    lengths: AudioLengths


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    kind: Kind
    # Of what came; raises 400.
    read: Callable[[Any], Any]
    # How much is asked, once it is known to be on offer; raises 400, 503.
    ask: Callable[[Any, Model, KeyRecord, Measures], Awaitable[Ask]]
    # Which kind of answer an order gets.
    answer: Callable[[Any], Any]


async def ask_chat(order: ChatOrder, model: Model, caller: KeyRecord, measures: Measures) -> Ask:
    return await read_ask(order, model, measures.counter, owner=caller.account_id)


async def ask_image(order: ImageOrder, model: Model, caller: KeyRecord, measures: Measures) -> Ask:
    order.check(model.media)
    return Ask(input_tokens=order.n, measured=True)


async def ask_speech(order: SpeechOrder, model: Model, caller: KeyRecord, measures: Measures) -> Ask:
    order.check(model.media)
    return Ask(input_tokens=order.characters, measured=True)


async def ask_audio(order: AudioOrder, model: Model, caller: KeyRecord, measures: Measures) -> Ask:
    file, filename = order.upload.file, order.upload.filename
    milliseconds = await measures.lengths.milliseconds(file, filename, owner=caller.account_id)
    return Ask(input_tokens=seconds_begun(milliseconds), measured=True)


CHAT = Operation(kind=Kind.CHAT, read=read_chat, ask=ask_chat, answer=chat_answer)
IMAGE = Operation(kind=Kind.IMAGE, read=read_image, ask=ask_image, answer=lambda _: ImageAnswer)
SPEECH = Operation(kind=Kind.SPEECH, read=read_speech, ask=ask_speech, answer=lambda _: SpeechAnswer)
TRANSCRIPTION = Operation(
    kind=Kind.TRANSCRIPTION, read=read_transcription, ask=ask_audio, answer=lambda _: TranscriptAnswer
)
TRANSLATION = Operation(
    kind=Kind.TRANSCRIPTION, read=read_translation, ask=ask_audio, answer=lambda _: TranscriptAnswer
)
