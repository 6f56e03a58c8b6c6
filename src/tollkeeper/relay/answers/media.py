"""Media answers on their way to the caller: images and speech as they come, transcripts whole.

Rules of this file
1. Nothing is kept of what passes. Images are counted, and what was asked of the others was counted before.
2. What breaks off in the middle ends with an error that the edge turns into a broken connection: half a file that looks
   whole would be worse.
"""

from abc import abstractmethod
from typing import Any

import msgspec

from tollkeeper.core.calls.image_meter import ImageMeter
from tollkeeper.core.calls.media import SPEECH_TYPES, AudioOrder, ImageOrder, SpeechOrder
from tollkeeper.core.calls.meter import NotAnAnswer
from tollkeeper.core.errors import ProviderUnavailable, StreamBroken
from tollkeeper.core.money.charge import Ending
from tollkeeper.core.money.prices import Usage
from tollkeeper.core.pool.health import Trouble
from tollkeeper.ports import Failure, UpstreamAnswer, UpstreamFailed
from tollkeeper.relay.answers.whole import Answer, AnswerForm, MeterType, OrderType, Whole
from tollkeeper.relay.call import ClientLeft

# More than any answer has.
PASSING_BYTES_MOST = 256 * 1024 * 1024
# What providers say in words, with a status that they did not mean.
NO_SOUND = ("application/json", "text/", "application/xml", "application/problem")


class ByteMeter:
    """The meter of an answer whose price was known before it came: only whether anything came."""

    reported: Usage | None = None
    so_far: Usage | None = None
    output_tokens = 0
    guessed_tokens = 0

    def __init__(self) -> None:
        self.characters = 0

    def read(self, piece: bytes) -> None:
        self.characters += len(piece)


class Transcript(msgspec.Struct):
    text: str
    error: Any = None


decode_transcript = msgspec.json.Decoder(Transcript).decode
NOT_READ = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class TranscriptAnswer(Whole[AudioOrder, ByteMeter]):
    @staticmethod
    def _new_meter(order: AudioOrder) -> ByteMeter:
        return ByteMeter()

    def _look_at(self, body: bytes, upstream: UpstreamAnswer) -> None:
        try:
            transcript = decode_transcript(body)
        except NOT_READ:
            raise NotAnAnswer from None
        if transcript.error is not None:
            raise NotAnAnswer
        self.meter.read(body)

    def _look_at_size(self, size_bytes: int) -> None:
        self.meter.characters += size_bytes


class PassingAnswer(Answer[OrderType, MeterType]):
    """An answer that goes out piece by piece, as it comes."""

    form = AnswerForm.BYTES
    is_worthless_in_part = True
    _passed_bytes = 0

    async def read(self) -> bytes:
        if self.ending is not None:
            return b""
        try:
            if self._delivery is None:
                return await self._delivered(self._take_first)
            piece = await self._delivery.answer.read()
            self._passed_bytes += len(piece)
            if self._passed_bytes > PASSING_BYTES_MOST:
                # No fault of the provider's: the caller asked for more than may pass.
                raise StreamBroken
            self._watch(self.meter, piece)
        except (UpstreamFailed, NotAnAnswer):
            raise self._broken() from None
        if not piece:
            self._conclude()
        return piece

    @staticmethod
    @abstractmethod
    def _watch(meter: MeterType, piece: bytes) -> None:
        """Raise NotAnAnswer."""

    def _look_at_head(self, upstream: UpstreamAnswer) -> None:
        """Raise NotAnAnswer."""

    def _is_whole(self) -> bool:
        return True

    async def _take_first(self, upstream: UpstreamAnswer) -> bytes:
        self._look_at_head(upstream)
        first = await upstream.read()
        if not first:
            raise NotAnAnswer
        # Of an attempt that fails here nothing was sent on, and nothing counts.
        meter = self._new_meter(self._order)
        self._watch(meter, first)
        self.meter = meter
        return first

    def _conclude(self) -> None:
        if not self._is_whole():
            raise self._broken()
        self.ending = Ending.COMPLETED

    def _broken(self) -> Exception:
        if self._delivery is None:
            return ProviderUnavailable()
        self._delivery.seat.fail(Trouble.SERVER, Failure.BROKEN)
        return StreamBroken()


class ImageAnswer(PassingAnswer[ImageOrder, ImageMeter]):
    @staticmethod
    def _new_meter(order: ImageOrder) -> ImageMeter:
        return ImageMeter()

    @staticmethod
    def _watch(meter: ImageMeter, piece: bytes) -> None:
        meter.read(piece)

    def _is_whole(self) -> bool:
        return self.meter.finished

    def client_left(self) -> None:
        # How many there are is known at the end alone.
        if self.ending is None:
            self._call.goes_on(Ending.CLIENT_LEFT)


class SpeechAnswer(PassingAnswer[SpeechOrder, ByteMeter]):
    @staticmethod
    def _new_meter(order: SpeechOrder) -> ByteMeter:
        return ByteMeter()

    @property
    def content_type(self) -> str:
        return SPEECH_TYPES[self._order.format]

    @staticmethod
    def _watch(meter: ByteMeter, piece: bytes) -> None:
        meter.read(piece)

    def _look_at_head(self, upstream: UpstreamAnswer) -> None:
        if (upstream.header("content-type") or "").lower().startswith(NO_SOUND):
            raise NotAnAnswer

    def client_left(self) -> None:
        if self.ending is None:
            self._call.end(ClientLeft(), Ending.CLIENT_LEFT)
