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
from tollkeeper.core.dialects.telling import AnswerHeading, Closing, NewTelling, Telling
from tollkeeper.core.money.charge import Ending
from tollkeeper.core.money.prices import Usage
from tollkeeper.ports import UpstreamAnswer
from tollkeeper.relay.answers.streamed import StreamedAnswer
from tollkeeper.relay.answers.whole import ChatAnswer, Dispatch, WholeAnswer
from tollkeeper.relay.bill import Bill
from tollkeeper.relay.call import Call


class ToldAnswer(ChatAnswer):
    """What both kinds share: a new telling for each provider account that is asked."""

    new_telling: NewTelling

    def _begin_telling(self) -> Telling:
        return self.new_telling(
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


class ToldStream(ToldAnswer, StreamedAnswer):
    _telling: Telling

    async def _take_first(self, upstream: UpstreamAnswer) -> bytes:
        self._telling = self._begin_telling()
        self._bill.note_answering(is_native=upstream.native is not None)
        return await super()._take_first(upstream)

    def _take(self, piece: bytes) -> bytes:
        told = super()._take(piece)
        if self._metered is None or self._metered.native is None:
            return told
        failed = self._has_stopped and not self.meter.said_done
        native = self._metered.native
        if failed or not native:
            return b""
        return self._telling.pass_event(native, None if self.meter.reported is None else self._closing_with_cost())

    def _closing_with_cost(self) -> Closing:
        return msgspec.structs.replace(self._closing(), cost=self._bill.foretell(self.meter))

    def _as_sent(self, event: bytes, data: bytes) -> bytes:
        is_native = self._metered is not None and self._metered.native is not None
        return b"" if is_native else self._telling.tell(data)

    def _end_at_max_charge(self) -> bytes:
        self.ending = Ending.MAX_CHARGE
        due = self._bill.charge(self.ending, self.meter, complete=False)
        return self._telling.end_short(Closing(usage=due.usage, cost=due.amount))

    def _last_words(self) -> bytes:
        return self._telling.end(self._closing_with_cost())


class ToldWhole(ToldAnswer, WholeAnswer):
    async def _take_whole(self, upstream: UpstreamAnswer) -> bytes:
        self._bill.note_answering(is_native=upstream.native is not None)
        body = await super()._take_whole(upstream)
        telling = self._begin_telling()
        if upstream.native is not None:
            tell = partial(telling.pass_whole, upstream.native)
        else:
            tell = partial(telling.tell_whole, body, self._closing())
        return await self.aside.run_to_its_end(len(body), tell)


def told_answer(
    new_telling: NewTelling, call: Call, order: ChatOrder, bill: Bill, dispatch: Dispatch, drain_seconds: float
) -> ChatAnswer:
    made: type[ToldAnswer] = ToldStream if order.stream else ToldWhole
    answer = made(call, order, bill, dispatch, drain_seconds)
    answer.new_telling = new_telling
    return answer
