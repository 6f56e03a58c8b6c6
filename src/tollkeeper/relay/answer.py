"""Answers on their way from a provider to the caller: whole, or as a stream of events.

Rules of this file
1. Bytes pass as they came. Of a stream, only what is between the provider and us is taken out: a report of usage that
   the caller did not ask for, comments, and the provider's errors, which are told in our own words.
2. A stream that ends without a reason to end is broken, however politely it was closed. One whose reason has come is
   complete, however rudely.
3. What has come is delivered before what went wrong is told.
"""

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from enum import Enum, auto
from typing import Any, Generic, TypeVar

from tollkeeper.core.charge import Ending
from tollkeeper.core.chat import ChatOrder
from tollkeeper.core.errors import GatewayError, InsufficientQuota, NodeStopping, ProviderUnavailable, StreamBroken
from tollkeeper.core.health import Trouble
from tollkeeper.core.meter import Event, Meter, NotAnAnswer
from tollkeeper.core.money import Quota
from tollkeeper.core.sse import DONE, EventSplitter, EventTooLong, data_of
from tollkeeper.ports import Failure, UpstreamAnswer, UpstreamFailed
from tollkeeper.relay.bill import AnyMeter, Bill
from tollkeeper.relay.call import Call, ClientLeft
from tollkeeper.relay.dispatch import Delivery, Order, Take

OrderType = TypeVar("OrderType", bound=Order)
MeterType = TypeVar("MeterType", bound=AnyMeter)

WHOLE_BYTES_MOST = 64 * 1024 * 1024
# A connection is kept if the very end of its answer comes this soon after the last event.
END_SECONDS = 1.0
# A stream's use of its hold is looked at when half of what is left could have come, and not more often than this.
LOOK_CHARACTERS_LEAST = 128


# What does not reach the caller, and does not end the answer either.
UNHEARD = frozenset({Event.USAGE, Event.ASIDE})


class Form(Enum):
    """How an answer goes out."""

    WHOLE = auto()
    EVENTS = auto()
    BYTES = auto()


class Answer(ABC, Generic[OrderType, MeterType]):
    """One answer, read by the edge piece by piece."""

    form: Form
    meter: MeterType
    # Half of it is of no use to anybody.
    is_worthless_in_part = False

    def __init__(
        self,
        call: Call,
        order: OrderType,
        bill: Bill,
        dispatch: Callable[[Take], Awaitable[Delivery]],
        drain_seconds: float,
    ) -> None:
        """`drain_seconds`: how long an answer is heard on whose caller has left."""
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
        """What to send to the caller next; b"" after the end. Raise what the caller must be told."""

    @abstractmethod
    def client_left(self) -> None:
        """Nobody listens any more."""

    def client_stuck(self) -> None:
        """The client is there and takes nothing: as good as gone, and in the way of whoever would read on."""
        self._call.end(ClientLeft(), Ending.CLIENT_LEFT)

    @property
    def charged(self) -> Quota:
        """What an answer costs that has come to its end."""
        return self._bill.charge(self.ending or Ending.REFUSED, self.meter, complete=True).amount

    async def close(self) -> None:
        if self._delivery is not None:
            self._delivery.seat.leave(self._tokens_seen())
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
            raise
        self._order.forget_content()
        self._call.let_go_of_body()
        return self._delivery.first


AnyAnswer = Answer[Any, Any]


class Whole(Answer[OrderType, MeterType]):
    """An answer that goes out when it has come to its end."""

    form = Form.WHOLE

    async def read(self) -> bytes:
        if self.ending is not None:
            return b""
        try:
            body = await self._delivered(self._take_whole)
        except UpstreamFailed:
            raise ProviderUnavailable from None
        self.ending = Ending.COMPLETED
        return body

    @abstractmethod
    def _look_at(self, body: bytes) -> None:
        """Raise NotAnAnswer."""

    async def _take_whole(self, upstream: UpstreamAnswer) -> bytes:
        pieces, size_bytes = [], 0
        while piece := await upstream.read():
            pieces.append(piece)
            size_bytes += len(piece)
            if size_bytes > WHOLE_BYTES_MOST:
                raise NotAnAnswer
        body = b"".join(pieces)
        self._look_at(body)
        return body

    def client_left(self) -> None:
        if self.ending is None:
            self._call.goes_on(Ending.CLIENT_LEFT)


class ChatAnswer(Answer[ChatOrder, Meter]):
    @staticmethod
    def _new_meter(order: ChatOrder) -> Meter:
        return Meter(order.n)

    def _tokens_seen(self) -> int:
        reported = self.meter.reported
        return reported.output_tokens if reported else self.meter.characters // 4


class WholeAnswer(ChatAnswer, Whole[ChatOrder, Meter]):
    def _look_at(self, body: bytes) -> None:
        self.meter.read_whole(body)


class StreamedAnswer(ChatAnswer):
    form = Form.EVENTS

    _splitter: EventSplitter
    _begun = False
    _stopped = False
    _look_at_characters = 0

    async def read(self) -> bytes:
        while self.ending is None:
            passed = await self._next()
            if self._stopped and (not passed or self.meter.finished):
                passed += self._conclude()
            if passed:
                self._begun = True
                return passed
        return b""

    def client_left(self) -> None:
        if self.ending is not None or self._call.ended_as is not None:
            return
        if self._bill.drained_when_client_leaves:
            self._call.goes_on(Ending.CLIENT_LEFT)
            self._call.end_later(self._drain_seconds, Ending.CLIENT_LEFT)
        else:
            self._call.end(ClientLeft(), Ending.CLIENT_LEFT)

    async def close(self) -> None:
        try:
            if self._delivery is not None and self.ending is Ending.COMPLETED:
                with contextlib.suppress(TimeoutError, UpstreamFailed):
                    async with asyncio.timeout(END_SECONDS):
                        while await self._delivery.answer.read():
                            pass
        finally:
            await super().close()

    async def _next(self) -> bytes:
        if self._stopped:
            return b""
        try:
            if self._delivery is None:
                return await self._delivered(self._take_first)
            await self._stay_covered()
            return self._take(await self._delivery.answer.read())
        except (UpstreamFailed, EventTooLong):
            self._stopped = True
            return b""

    async def _take_first(self, upstream: UpstreamAnswer) -> bytes:
        """The first events that pass. What comes before them, or instead, the caller need not know of."""
        self._splitter, self._stopped = EventSplitter(), False
        passed = b""
        try:
            while not self._stopped and not passed:
                passed = self._take(await upstream.read())
        except EventTooLong:
            raise NotAnAnswer from None
        finally:
            if not passed:
                # What it said counts for nothing, whoever may be asked next.
                self.meter = Meter(self._order.n)
        if not passed:
            raise NotAnAnswer
        return passed

    def _take(self, piece: bytes) -> bytes:
        """What of a piece passes on to the caller. No piece is the end, which ends the last event as well."""
        self._stopped = not piece
        passed = []
        for event in self._splitter.feed(piece or b"\n\n"):
            data = data_of(event)
            if not data:
                continue
            kind = self.meter.read_event(data)
            if kind is Event.PASSES or (kind is Event.USAGE and self._order.wants_usage):
                passed.append(event)
            elif kind not in UNHEARD:
                self._stopped = True
                break
        return b"".join(passed)

    def _conclude(self) -> bytes:
        """Nothing more comes: that was all if the reason to end has come, and broken off otherwise."""
        if self.meter.finished:
            self.ending = Ending.COMPLETED
            return DONE
        if self._delivery is not None:
            self._delivery.seat.fail(Trouble.SERVER, Failure.BROKEN)
        raise StreamBroken if self._begun else ProviderUnavailable

    async def _stay_covered(self) -> None:
        """Hold more before more is delivered than the hold covers."""
        self._bill.note_progress(lambda: self.meter.output_tokens)
        if self.meter.characters < self._look_at_characters:
            return
        used, covered = self.meter.output_tokens, self._bill.covered_tokens
        if used < covered:
            self._look_at_characters = self.meter.characters + max(LOOK_CHARACTERS_LEAST, (covered - used) // 2)
            return
        try:
            await self._bill.extend(used)
        except InsufficientQuota:
            self.ending = Ending.QUOTA_RAN_OUT
            raise
        except GatewayError as problem:
            # Whatever it was that our own books could not do: the caller is told what that means for this answer.
            self.ending = Ending.NODE_STOPPED
            raise NodeStopping from problem


def chat_answer(order: ChatOrder) -> type[ChatAnswer]:
    return StreamedAnswer if order.stream else WholeAnswer
