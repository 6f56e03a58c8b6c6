"""Answers that are bytes to us and end with a report: embeddings, and images that are priced by token.

Rules of this file
1. What is not too large is gathered, failed over until it is complete, and goes out whole, with its price.
2. What is larger passes as it comes, as other media do. Its price is on its receipt. A name of the model that stands in
   two pieces is held back until all of it is there.
"""

from typing import TypeVar

from tollkeeper.core.calls.embedding import EmbeddingOrder
from tollkeeper.core.calls.media import ImageOrder
from tollkeeper.core.calls.meter import NotAnAnswer
from tollkeeper.core.calls.reporting_meters import EmbeddingMeter, ReportingMeter, TokenImageMeter
from tollkeeper.core.money.charge import Ending
from tollkeeper.ports import UpstreamAnswer
from tollkeeper.relay.answers.media import ImageAnswer, PassingAnswer
from tollkeeper.relay.answers.whole import AnswerForm, Dispatch, OrderType
from tollkeeper.relay.bill import Bill
from tollkeeper.relay.call import Call
from tollkeeper.relay.dispatch.renamed import RenamedPieces, renaming_of

# A few images, or five hundred vectors of usual size.
GATHERED_BYTES_MOST = 16 * 1024 * 1024

ReportingType = TypeVar("ReportingType", bound=ReportingMeter)


class GatheredAnswer(PassingAnswer[OrderType, ReportingType]):
    _is_gathered = False
    # Of an answer that passes, where its model has another name at its provider.
    _renamed: RenamedPieces | None = None

    async def read(self) -> bytes:
        piece = await super().read()
        if self._is_gathered and self.ending is None:
            self.form = AnswerForm.WHOLE
            self._conclude()
        if self._renamed is None:
            return piece
        while not (shown := self._renamed.take(piece)) and piece:
            piece = await super().read()
        return shown

    async def _take_first(self, upstream: UpstreamAnswer) -> bytes:
        gathered, meter = bytearray(), self._new_meter(self._order)
        while piece := await upstream.read():
            gathered += piece
            self._watch(meter, piece)
            if len(gathered) > GATHERED_BYTES_MOST:
                break
        else:
            if not _is_answer(meter):
                raise NotAnAnswer
            self._is_gathered = True
        self.meter, shown = meter, renaming_of(upstream)
        if shown is None:
            return bytes(gathered)
        if self._is_gathered:
            return shown(bytes(gathered))
        self._renamed = RenamedPieces(shown)
        return bytes(gathered)

    @staticmethod
    def _watch(meter: ReportingType, piece: bytes) -> None:
        meter.read(piece)

    def _is_whole(self) -> bool:
        return _is_answer(self.meter)

    def client_left(self) -> None:
        # What it cost is known at the end alone.
        if self.ending is None:
            self._call.goes_on(Ending.CLIENT_LEFT)


class EmbeddingAnswer(GatheredAnswer[EmbeddingOrder, EmbeddingMeter]):
    @staticmethod
    def _new_meter(order: EmbeddingOrder) -> EmbeddingMeter:
        return EmbeddingMeter()


class TokenImageAnswer(GatheredAnswer[ImageOrder, TokenImageMeter]):
    @staticmethod
    def _new_meter(order: ImageOrder) -> TokenImageMeter:
        return TokenImageMeter(order.tokens_each or 0)


def image_answer(
    call: Call, order: ImageOrder, bill: Bill, dispatch: Dispatch, drain_seconds: float
) -> ImageAnswer | TokenImageAnswer:
    """Choose the kind of answer by how the model is priced: by image, or by token."""
    answer = ImageAnswer if order.tokens_each is None else TokenImageAnswer
    return answer(call, order, bill, dispatch, drain_seconds)


def _is_answer(meter: ReportingMeter) -> bool:
    return meter.finished and meter.images > 0
