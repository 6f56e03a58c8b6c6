"""Answers on their way from a provider to the caller: what all have in common, and those that go out whole.

Rules of this file
1. Bytes pass as they came, but for the name of a model that has another one at its provider account.
2. An answer that goes out whole is failed over until it is complete.
3. A large one is looked at beside the event loop (`relay/aside`), to the end, whatever becomes of the call: what a
   provider has made is charged.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from enum import Enum, auto
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from tollkeeper.core.calls.answer_reading import LENIENT_BYTES_MOST
from tollkeeper.core.calls.chat import WHOLE_BYTES_MOST, ChatOrder
from tollkeeper.core.calls.meter import AnswerTooLong, NotAnAnswer
from tollkeeper.core.calls.whole_meter import WholeMeter
from tollkeeper.core.errors import (
    AnswerTooLarge,
    GatewayError,
    ProviderUnavailable,
)
from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.charge import Ending, Readings
from tollkeeper.ports import UpstreamAnswer, UpstreamFailed
from tollkeeper.relay.aside import LARGE_BYTES, Aside
from tollkeeper.relay.bill import Bill
from tollkeeper.relay.call import Call, ClientLeft
from tollkeeper.relay.dispatch.dispatch import AnyOrder, Take
from tollkeeper.relay.dispatch.journey import Delivery
from tollkeeper.relay.dispatch.renamed import renaming_of

OrderType = TypeVar("OrderType", bound=AnyOrder)


class AnyMeter(Readings, Protocol):
    """What a call wants to know of its answer."""

    @property
    def characters(self) -> int:
        """About how many characters of output came: whether anything was heard."""
        ...


MeterType = TypeVar("MeterType", bound=AnyMeter)
Dispatch = Callable[[Take], Awaitable[Delivery]]


class AnswerForm(Enum):
    """How an answer goes out."""

    WHOLE = auto()
    EVENTS = auto()
    BYTES = auto()


class Answer(ABC, Generic[OrderType, MeterType]):
    """One answer, read by the edge piece by piece."""

    form: AnswerForm
    meter: MeterType
    # Set by whoever makes the answer.
    aside: Aside
    # Half of it is of no use to anybody.
    is_worthless_in_part = False
    # Where what needs no more than a look may go to its caller while `read` waits; whether it went. Set by whoever
    # reads, once the answer has begun to go out.
    outlet: Callable[[bytes], bool] | None = None

    def __init__(
        self,
        call: Call,
        order: OrderType,
        bill: Bill,
        dispatch: Dispatch,
        drain_seconds: float,
    ) -> None:
        """`drain_seconds`: how long an answer is read on whose caller has left."""
        self.meter = self._new_meter(order)
        # How the provider's answer ended; None while it has not.
        self.ending: Ending | None = None
        self._call = call
        self._order = order
        self._bill = bill
        self._dispatch = dispatch
        self._drain_seconds = drain_seconds
        self._delivery: Delivery | None = None

    @staticmethod
    @abstractmethod
    def _new_meter(order: OrderType) -> MeterType: ...

    @property
    def content_type(self) -> str:
        return "application/json"

    @abstractmethod
    async def read(self) -> bytes:
        """What to send to the caller next; b"" after the end. Raise the error that the caller must get."""

    @abstractmethod
    def client_left(self) -> None:
        """The client has disconnected."""

    def client_stuck(self) -> None:
        """The client is connected but does not read. End the call: back-pressure would stop us from reading on."""
        self._call.end(ClientLeft(), Ending.CLIENT_LEFT)

    def note_untranslated(self) -> None:
        """Called when no more of the answer will be read: count the text that translation left out."""
        return

    async def read_unread(self) -> None:
        """The call was ended from outside: count what the provider had sent by then, as far as that matters."""
        return

    @property
    def charged(self) -> Quota:
        """What an answer costs that has come to its end."""
        return self._bill.charge(self.ending or Ending.REFUSED, self.meter, complete=True).amount

    @property
    def known_charge(self) -> Quota | None:
        """What an answer costs that comes whole, where that was known before it came."""
        return self._bill.known_charge

    async def close(self) -> None:
        if self._delivery is not None:
            try:
                self._delivery.seat.leave(self._tokens_seen())
            finally:
                await self._delivery.answer.close()

    def _tokens_seen(self) -> int:
        """For an account's limit of tokens a minute, about."""
        return 0

    async def _delivered(self, take: Take) -> bytes:
        """Dispatch the order; what `take` made of the beginning of the answer."""
        try:
            self._delivery = await self._dispatch(take)
        except GatewayError:
            # Providers said no, or were never asked.
            self.ending = Ending.REFUSED
            if self._call.cut_off_by is not None:
                raise self._call.cut_off_by from None
            raise
        self._order.forget_content()
        self._call.forget_body()
        return self._delivery.first


AnyAnswer = Answer[Any, Any]


# Of answers that come whole, before they have come. Nothing is read with it.
NOTHING_READ = WholeMeter()


class Whole(Answer[OrderType, MeterType]):
    """An answer that goes out when it has come to its end."""

    form = AnswerForm.WHOLE

    async def read(self) -> bytes:
        if self.ending is not None:
            return b""
        try:
            body = await self._delivered(self._take_whole)
        except UpstreamFailed:
            raise ProviderUnavailable from None
        except AnswerTooLong as too_long:
            self._look_at_size(too_long.size_bytes)
            raise AnswerTooLarge from None
        self.ending = Ending.COMPLETED
        return body

    @abstractmethod
    def _look_at(self, body: bytes, upstream: UpstreamAnswer) -> None:
        """Count an answer. Runs in a thread where it is large: only when all is read, `meter` is set. Raise
        NotAnAnswer."""

    @abstractmethod
    def _look_at_size(self, size_bytes: int) -> None:
        """Count an answer that is too long to be looked at."""

    async def _take_whole(self, upstream: UpstreamAnswer) -> bytes:
        pieces, size_bytes = [], 0
        while piece := await upstream.read():
            pieces.append(piece)
            size_bytes += len(piece)
            if size_bytes > WHOLE_BYTES_MOST:
                raise AnswerTooLong(size_bytes)
        body = b"".join(pieces)
        try:
            if size_bytes <= LARGE_BYTES:
                self._look_at(body, upstream)
            else:
                await self.aside.run_to_its_end(size_bytes, partial(self._look_at, body, upstream))
        except NotAnAnswer:
            if size_bytes > LENIENT_BYTES_MOST:
                # Perhaps it is one, and only a lenient reader could tell: that would keep other calls waiting.
                raise AnswerTooLong(size_bytes) from None
            raise
        return body

    def client_left(self) -> None:
        if self.ending is None:
            self._call.goes_on(Ending.CLIENT_LEFT)


class ChatAnswer(Answer[ChatOrder, MeterType]):
    def _tokens_seen(self) -> int:
        reported = self.meter.reported
        return reported.output_units if reported else self.meter.characters // 4


class WholeAnswer(ChatAnswer[WholeMeter], Whole[ChatOrder, WholeMeter]):
    @staticmethod
    def _new_meter(order: ChatOrder) -> WholeMeter:
        return NOTHING_READ

    async def _take_whole(self, upstream: UpstreamAnswer) -> bytes:
        body, shown = await super()._take_whole(upstream), renaming_of(upstream)
        if self._bill.is_count_due(Ending.COMPLETED, self.meter, complete=True):
            await self._bill.asked.count()
        return body if shown is None else await self.aside.run_to_its_end(len(body), partial(shown, body))

    def _look_at(self, body: bytes, upstream: UpstreamAnswer) -> None:
        meter = WholeMeter(self._order.n)
        meter.is_translated = upstream.is_translated or upstream.native is not None
        meter.read(body)
        if upstream.untranslated is not None:
            meter.note_untranslated(upstream.untranslated)
        self.meter = meter

    def _look_at_size(self, size_bytes: int) -> None:
        self.meter = WholeMeter(self._order.n)
        self.meter.estimate(size_bytes)
