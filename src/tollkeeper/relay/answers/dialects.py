"""Chat answers to callers who asked in a dialect of their own.

Rules of this file
1. The meter reads chat, as everywhere: where the provider speaks the caller's dialect, what its events say in chat
   stands beside them (`UpstreamAnswer.native`). So endings, counting and failover are those of chat, and nothing of
   them is here.
2. An event of the provider's own passes unless what it says in chat is an error or cannot be read.
"""

from functools import partial

import msgspec

from tollkeeper.core.calls.chat import ChatOrder
from tollkeeper.core.calls.meter import Meter
from tollkeeper.core.calls.whole_meter import WholeMeter
from tollkeeper.core.dialects.answer_writer import AnswerHeading, AnswerWriter, Closing, NewAnswerWriter
from tollkeeper.core.money.charge import Ending
from tollkeeper.core.money.prices import Usage
from tollkeeper.ports import UpstreamAnswer
from tollkeeper.relay.answers.streamed import StreamedAnswer
from tollkeeper.relay.answers.whole import ChatAnswer, Dispatch, MeterType, WholeAnswer
from tollkeeper.relay.bill import Bill
from tollkeeper.relay.call import Call


class DialectAnswer(ChatAnswer[MeterType]):
    """What both kinds share: a new writer for each provider account that is asked."""

    new_writer: NewAnswerWriter

    def _begin_writer(self) -> AnswerWriter:
        return self.new_writer(
            AnswerHeading(
                request_id=self._call.request.request_id.hex,
                model=self._order.model,
                input_tokens=self._bill.input_units,
                asked_to_think=self._order.asks_to_think,
                may_end_short=self._bill.most_tokens is not None,
            )
        )

    def _closing(self) -> Closing:
        reported = self.meter.reported
        return Closing(usage=reported or Usage(self._bill.input_units, self.meter.output_tokens))


class DialectStream(DialectAnswer[Meter], StreamedAnswer):
    _writer: AnswerWriter
    _writes_events_itself = True

    async def _take_first(self, upstream: UpstreamAnswer) -> bytes:
        self._writer = self._begin_writer()
        self._bill.note_answering(is_native=upstream.native is not None)
        return await super()._take_first(upstream)

    def _take(self, piece: bytes) -> bytes:
        events = super()._take(piece)
        if self._metered is None or self._metered.native is None:
            return events
        failed = self._has_stopped and not self.meter.said_done
        native = self._metered.native
        if failed or not native:
            return b""
        return self._writer.pass_event(native, None if self.meter.reported is None else self._closing_with_cost())

    def _closing_with_cost(self) -> Closing:
        return msgspec.structs.replace(self._closing(), cost=self._bill.expected_charge(self.meter))

    def _as_sent(self, event: bytes, data: bytes) -> bytes:
        is_native = self._metered is not None and self._metered.native is not None
        return b"" if is_native else self._writer.write_chunk(data)

    def _end_at_max_charge(self) -> bytes:
        self.ending = Ending.MAX_CHARGE
        due = self._bill.charge(self.ending, self.meter, complete=False)
        return self._writer.end_short(Closing(usage=due.usage, cost=due.amount))

    def _last_words(self) -> bytes:
        return self._writer.end(self._closing_with_cost())


class DialectWhole(DialectAnswer[WholeMeter], WholeAnswer):
    async def _take_whole(self, upstream: UpstreamAnswer) -> bytes:
        self._bill.note_answering(is_native=upstream.native is not None)
        body = await super()._take_whole(upstream)
        writer = self._begin_writer()
        if upstream.native is not None:
            write = partial(writer.pass_whole, upstream.native)
        else:
            write = partial(writer.write_whole, body, self._closing())
        return await self.aside.run_to_its_end(len(body), write)


def dialect_answer(
    new_writer: NewAnswerWriter, call: Call, order: ChatOrder, bill: Bill, dispatch: Dispatch, drain_seconds: float
) -> DialectStream | DialectWhole:
    made = DialectStream if order.stream else DialectWhole
    answer = made(call, order, bill, dispatch, drain_seconds)
    answer.new_writer = new_writer
    return answer
