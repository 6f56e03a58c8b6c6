"""Calls that are over, on their way to a collector: noted by the event loop, sent by a thread.

Rules of this file
1. Noting a call takes microseconds and never waits. Every call is counted. Those that are sampled are kept until they
   are sent, as many as fit; the others are dropped, and how many is told.
2. One thread sends at a time. A collector that is away or slow makes it wait, and nobody else.
3. Which calls are sampled follows from their request ids, which no caller chooses. A caller's `traceparent` can only
   make it fewer: its trace is not recorded where the caller does not record it.
"""

import asyncio
import logging
import time
from collections.abc import Sequence
from functools import partial
from typing import Protocol

from tollkeeper.relay.ended import EndedCall
from tollkeeper.steady import in_a_thread_of_its_own, run_and_log, wait_for_event
from tollkeeper.telemetry.conventions import OPERATIONS
from tollkeeper.telemetry.figures import GenAiFigures, HistogramReading

# Of a request id, the bits that are random in every version 7 (RFC 9562).
RANDOM_BITS = 62
RANDOM = (1 << RANDOM_BITS) - 1
# Some kilobytes each.
CALLS_MOST = 2_048
# So many are not kept waiting for the next turn.
CALLS_DUE = 512
CLOSE_SECONDS = 3.0

log = logging.getLogger(__name__)


class Sends(Protocol):
    """Where spans and metrics are sent, by a thread."""

    def send(self, calls: Sequence[EndedCall], readings: Sequence[HistogramReading]) -> int: ...
    def close(self) -> None: ...


class Telemetry:
    """What one worker process sends to the collector of its calls, by a thread."""

    def __init__(self, collector: Sends, *, sample_ratio: float, every_seconds: float) -> None:
        self._collector = collector
        self._sampled_below = round(sample_ratio * (1 << RANDOM_BITS))
        self._every_seconds = every_seconds
        self._figures = GenAiFigures()
        self._figures_due = 0.0
        self._calls: list[EndedCall] = []
        self._due = asyncio.Event()
        self._sending: asyncio.Future[int] | None = None
        self.dropped_calls = 0

    def note(self, call: EndedCall) -> None:
        """A call is over. What is not relayed is no call to a model, nor is what a browser asks before one (CORS)."""
        if call.endpoint not in OPERATIONS or (call.settled is None and call.code is None):
            return
        self._figures.note(call)
        if not self._is_sampled(call):
            return
        if len(self._calls) >= CALLS_MOST:
            self.dropped_calls += 1
            return
        self._calls.append(call)
        if len(self._calls) == CALLS_DUE:
            self._due.set()

    async def follow(self) -> None:
        """Send, again and again."""
        while True:
            await wait_for_event(self._due, self._every_seconds)
            self._due.clear()
            await run_and_log("sending of traces", self._send)

    async def close(self) -> None:
        """Send what is left; a collector that does not take it is not waited for."""
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                if self._sending is not None:
                    await asyncio.wait({self._sending})
                self._figures_due = 0.0
                await run_and_log("sending of traces", self._send)
        except TimeoutError:
            log.warning("the OpenTelemetry collector does not answer; the last traces are lost")
        self._collector.close()

    async def _send(self) -> None:
        calls, self._calls = self._calls, []
        readings: Sequence[HistogramReading] = ()
        now = time.monotonic()
        if now >= self._figures_due:
            readings, self._figures_due = self._figures.readings(), now + self._every_seconds
        if not calls and not readings:
            return
        self._sending = in_a_thread_of_its_own(partial(self._collector.send, calls, readings))
        # Whoever stops waiting does not stop the thread.
        self.dropped_calls += await asyncio.shield(self._sending)

    def _is_sampled(self, call: EndedCall) -> bool:
        if call.request_id.int & RANDOM >= self._sampled_below:
            return False
        return call.trace_parent is None or call.trace_parent.is_sampled
