"""Streamed chat answers: events pass as they come, are counted, and stay covered by the hold.

Rules of this file
1. Of a stream, only what is between the provider and us is taken out: a report of usage that the caller did not ask
   for, comments, and the provider's errors, which are put into our own words; and a model's other name is replaced.
2. A stream that ends without a reason to end is broken, however politely it was closed. One whose reason has come is
   complete, however rudely.
3. What has come is delivered before the error is.
4. A caller who leaves does not decide what is known of the answer. Where only the provider's report says what was made
   (hidden thoughts, media, text of unknown form, an answer that had come to its end), the report is waited for.
   Otherwise what was under way is counted, for half a second, and then the provider is stopped.
5. One that would cost more than its caller allows ends as if it had reached its length, and the provider is stopped.
6. An event that differs from those before it only in its words goes out, counted, while the call waits in `read`.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from tollkeeper.core.calls.chat import ChatOrder
from tollkeeper.core.calls.meter import AnswerTooLong, Meter, NotAnAnswer
from tollkeeper.core.calls.sse import (
    DONE,
    EVENT_BYTES_MOST,
    PLAIN_BYTES,
    EventSplitter,
    EventTooLong,
    data_of,
    is_plain,
)
from tollkeeper.core.calls.sse import event as event_of
from tollkeeper.core.calls.stream_end import StreamMark, end_as_length, with_cost
from tollkeeper.core.calls.stream_event import NOT_PASSED_ON, Event
from tollkeeper.core.errors import (
    AnswerTooLarge,
    GatewayError,
    InsufficientQuota,
    NodeStopping,
    ProviderUnavailable,
    StreamBroken,
)
from tollkeeper.core.money.charge import Ending
from tollkeeper.core.pool.health import Trouble
from tollkeeper.ports import Failure, UpstreamAnswer, UpstreamFailed
from tollkeeper.relay.answers.stream_state import StreamState
from tollkeeper.relay.answers.whole import AnswerForm, ChatAnswer
from tollkeeper.relay.call import ClientLeft
from tollkeeper.relay.dispatch.renamed import Shown, renaming_of
from tollkeeper.steady import Timeout

# How long the report of an answer that has given its reason to end is waited for, when nobody else waits.
REPORT_SECONDS = 5.0
# What a provider sends within this time after its caller left was under way, and counts.
UNDER_WAY_SECONDS = 0.5
# What it had sent to a caller who did not read: how long that takes to come, and a pause in it.
UNREAD_SECONDS = 0.25
UNREAD_PAUSE_SECONDS = 0.05
# Of a caller that is connected and reads nothing, how long the report is waited for.
STUCK_SECONDS = 30.0
# A connection is kept if the very end of its answer comes this soon after the last event.
END_SECONDS = 1.0
# A stream's use of its hold is looked at when half of what is left could have come, and not more often than this.
LOOK_CHARACTERS_LEAST = 128


class StreamedAnswer(ChatAnswer[Meter]):
    form = AnswerForm.EVENTS

    @staticmethod
    def _new_meter(order: ChatOrder) -> Meter:
        return Meter(order.n)

    _state = StreamState.AWAITED
    # Of the provider account that was asked last.
    _splitter: EventSplitter
    _read_piece: Callable[[], Awaitable[bytes]]
    # The upstream answer that the meter has read; None where no answer is to be charged for.
    _metered: UpstreamAnswer | None = None
    _shown: Shown | None = None
    # Whether callers get other events than the provider sent.
    _writes_events_itself = False
    _look_at_characters = 0

    async def read(self) -> bytes:
        while self.ending is None:
            passed = b"" if self._state is StreamState.STOPPED else await self._next()
            if self._call.cut_off_by is not None:
                raise self._call.cut_off_by
            if self._state is StreamState.STOPPED and (not passed or self.meter.finished):
                passed += self._conclude()
            if passed:
                return passed
        return b""

    def client_left(self) -> None:
        if self.ending is not None or self._call.ended_as is not None:
            return
        self._call.goes_on(Ending.CLIENT_LEFT)
        self._call.later(UNDER_WAY_SECONDS, self._end_without_client)

    def _end_without_client(self) -> None:
        seconds = self._seconds_for_report()
        if seconds:
            self._call.end_later(seconds, Ending.CLIENT_LEFT)
        else:
            self._call.end(ClientLeft(), Ending.CLIENT_LEFT)

    def _seconds_for_report(self) -> float:
        """How long the provider is read on for its report; 0 where what was counted says it all."""
        self.note_untranslated()
        if self.meter.unsure or self._bill.needs_report(self.meter):
            return self._drain_seconds
        return REPORT_SECONDS if self.meter.finished else 0.0

    async def read_unread(self) -> None:
        # A caller who does not read keeps us from reading: what the provider sent meanwhile is on its way to us.
        if self._state is not StreamState.PASSING or self.ending is not None:
            return
        waits = min(self._seconds_for_report(), STUCK_SECONDS)
        with contextlib.suppress(TimeoutError, UpstreamFailed, EventTooLong):
            async with asyncio.timeout(waits or UNREAD_SECONDS):
                while not self._has_stopped:
                    async with Timeout(waits or UNREAD_PAUSE_SECONDS):
                        self._take(await self._read_piece())
        if self._has_stopped and self.meter.finished:
            self.ending = Ending.COMPLETED

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
        try:
            if self._state is StreamState.AWAITED:
                return self._begin_with(await self._delivered(self._take_first))
            most_tokens = self._bill.most_tokens
            if most_tokens is not None and self._sure_tokens > most_tokens:
                return self._end_at_max_charge()
            if self.meter.characters >= self._look_at_characters:
                await self._stay_covered()
            return self._take(await self._read_piece())
        except UpstreamFailed:
            self._state = StreamState.STOPPED
            return b""
        except EventTooLong:
            if not self._asked_for_so_much:
                self._state = StreamState.STOPPED
                return b""
            self.meter.estimate(EVENT_BYTES_MOST)
            raise AnswerTooLarge from None
        except AnswerTooLong as too_long:
            self.meter.estimate(too_long.size_bytes)
            raise AnswerTooLarge from None

    @property
    def _has_stopped(self) -> bool:
        return self._state is StreamState.STOPPED

    def _begin_with(self, first: bytes) -> bytes:
        """The first events pass. More come, unless those were all."""
        if self._state is StreamState.AWAITED:
            self._state = StreamState.PASSING
        self._bill.note_progress(lambda: self.meter.output_tokens)
        if self._bill.most_tokens is None and self._metered is not None:
            self._metered.pass_by(self._pass_now)
        return first

    @property
    def _passes_as_it_came(self) -> bool:
        """Whether callers get what the provider sent, as long as nothing in it is theirs to know otherwise."""
        if self._shown is not None or self._writes_events_itself:
            return False
        # Asked in this order for each of thousands of events: hardly any comes behind a report.
        return not self.meter.reports.has_come or self.meter.reported is None

    def _pass_now(self, piece: bytes) -> bool:
        """An event that says nothing but words, as those before it: it is counted, and goes out. Whether it was one."""
        meter, outlet = self.meter, self.outlet
        if outlet is None or self.ending is not None or self._call.ended_as is not None:
            return False
        if not (self._passes_as_it_came and self._splitter.is_between and is_plain(piece)):
            return False
        words = meter.chunk_form.words_of(piece[6:-2])
        # With the piece that reaches the mark, the call looks whether its hold still covers what comes.
        if words is None or meter.characters + len(words) >= self._look_at_characters or not outlet(piece):
            return False
        meter.count_words(words)
        return True

    @property
    def _asked_for_so_much(self) -> bool:
        """Whether an event that is too long may be what the caller asked for, or the provider must have gone astray."""
        return self._order.answer_bytes_most(self._bill.max_output_tokens) >= EVENT_BYTES_MOST

    async def _take_first(self, upstream: UpstreamAnswer) -> bytes:
        """The first events that pass. What comes before them, or instead, the caller need not know of."""
        self._state, self._splitter, self._read_piece = StreamState.AWAITED, EventSplitter(), upstream.read
        self._metered, self.meter.is_translated = upstream, upstream.is_translated or upstream.native is not None
        self._shown = renaming_of(upstream)
        passed = b""
        try:
            while not self._has_stopped and not passed:
                passed = self._take(await upstream.read())
        except EventTooLong:
            raise (AnswerTooLong(EVENT_BYTES_MOST) if self._asked_for_so_much else NotAnAnswer) from None
        finally:
            if not passed and self._call.ended_as is None:
                # Somebody waits, and another may be asked: what this one said counts for nothing.
                self.meter, self._metered = Meter(self._order.n), None
        if not passed:
            raise NotAnAnswer
        return passed

    def note_untranslated(self) -> None:
        if self._metered is not None and self._metered.untranslated is not None:
            self.meter.note_untranslated(self._metered.untranslated)

    def _take(self, piece: bytes) -> bytes:
        """What of a piece passes on to the caller. No piece is the end, which ends the last event as well."""
        if not piece:
            self._state = StreamState.STOPPED
        passed = []
        for event in self._splitter.feed(piece or b"\n\n"):
            data = data_of(event)
            if not data:
                continue
            kind = self.meter.read_event(data)
            if kind is Event.PASSES or (kind is Event.USAGE and self._order.wants_usage):
                # Nearly all are one line of data and nothing else, and pass as they are.
                is_as_sent = len(event) == len(data) + PLAIN_BYTES and self._passes_as_it_came
                passed.append(event if is_as_sent else self._as_sent(event, data))
            elif kind not in NOT_PASSED_ON:
                self._state = StreamState.STOPPED
                break
        return b"".join(passed)

    def _as_sent(self, event: bytes, data: bytes) -> bytes:
        """An event that passes, as the caller gets it."""
        priced = self._with_cost(data)
        whole = event if priced is data and is_plain(event) else event_of(priced)
        return whole if self._shown is None else self._shown(whole)

    def _last_words(self) -> bytes:
        """What the caller gets after the last event of an answer that is complete."""
        return DONE

    def _with_cost(self, data: bytes) -> bytes:
        """An event as the caller gets it: the report at the end says what the answer costs."""
        is_report = self._order.wants_usage and self.meter.finished and self.meter.reported is not None
        if not is_report or b'"usage"' not in data:
            return data
        return with_cost(data, self._bill.expected_charge(self.meter))

    @property
    def _sure_tokens(self) -> int:
        """What was counted, without what is guessed: a vendor's remarks beside its words must not end an answer."""
        return self.meter.output_tokens - self.meter.guessed_tokens

    def _end_at_max_charge(self) -> bytes:
        """The caller allows no more: the answer ends here, in good order."""
        self.ending = Ending.MAX_CHARGE
        due = self._bill.charge(self.ending, self.meter, complete=False)
        mark = StreamMark(self._call.request.request_id, self.meter.label, self._order.model)
        return end_as_length(mark, self.meter.unfinished, due.usage if self._order.wants_usage else None, due.amount)

    def _conclude(self) -> bytes:
        """The provider's stream has ended: the answer is complete if its finish reason has come, else broken off."""
        if self.meter.finished:
            self.ending = Ending.COMPLETED
            self.note_untranslated()
            self._bill.note_complete(self.meter)
            return self._last_words()
        if self._delivery is None:
            raise ProviderUnavailable
        self._delivery.seat.fail(Trouble.SERVER, Failure.BROKEN)
        raise StreamBroken

    async def _stay_covered(self) -> None:
        """Hold more before more is delivered than the hold covers."""
        # Nothing more is held for a guess.
        used, covered = self._sure_tokens, self._bill.covered_tokens
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
