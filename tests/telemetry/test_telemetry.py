"""Calls on their way to a collector: which of them, how many, and what happens when it takes none."""

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import AsyncIterator, Sequence
from functools import partial
from uuid import UUID

import pytest

from tests.telemetry.ended import a_settled_call, an_attempt, an_ended_call
from tollkeeper.core.traceparent import TraceParent
from tollkeeper.relay.ended import EndedCall
from tollkeeper.telemetry import telemetry as module
from tollkeeper.telemetry.collector import CALLS_AT_ONCE, Collector
from tollkeeper.telemetry.figures import HistogramReading
from tollkeeper.telemetry.telemetry import CALLS_DUE, CALLS_MOST, RANDOM, Telemetry
from tools.otlp import OtlpServer
from tools.services.process import free_port, wait_until_async

SOON_SECONDS = 0.02
PARENT = TraceParent(trace_id=7, span_id=8, is_sampled=True)
NOT_RECORDED = TraceParent(trace_id=7, span_id=8, is_sampled=False)

# The smallest that is told: a refusal.
a_call = partial(an_ended_call, code="rate_limit_exceeded", status=429)


class Shelf:
    """A collector in memory. `taking` is cleared while it is slow."""

    def __init__(self) -> None:
        self.calls: list[EndedCall] = []
        self.turns: list[int] = []
        self.readings: Sequence[HistogramReading] = ()
        self.taking = threading.Event()
        self.taking.set()
        self.is_closed = False

    def send(self, calls: Sequence[EndedCall], readings: Sequence[HistogramReading]) -> int:
        self.taking.wait()
        self.calls += calls
        self.turns.append(len(calls))
        self.readings = readings or self.readings
        return 0

    def close(self) -> None:
        self.is_closed = True


@contextlib.asynccontextmanager
async def following(telemetry: Telemetry) -> AsyncIterator[None]:
    task = asyncio.create_task(telemetry.follow())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def with_chance(part: float) -> UUID:
    """A request id whose random bits are this part of what they can be."""
    return UUID(int=(0x0192_0000_0000_7000 << 64) | (0b10 << 62) | int(RANDOM * part))


@pytest.mark.parametrize(
    ("ratio", "part", "parent", "is_sent"),
    [
        pytest.param(1.0, 1.0, None, True, id="all"),
        pytest.param(0.0, 0.0, None, False, id="none"),
        pytest.param(0.25, 0.24, None, True, id="within the ratio"),
        pytest.param(0.25, 0.26, None, False, id="beyond it"),
        pytest.param(0.25, 0.24, PARENT, True, id="its caller records it"),
        pytest.param(0.25, 0.26, PARENT, False, id="its caller cannot make it more"),
        pytest.param(1.0, 0.5, NOT_RECORDED, False, id="its caller does not record it"),
    ],
)
async def test_which_calls_are_traced_is_ours_to_say(
    ratio: float, part: float, parent: TraceParent | None, is_sent: bool
) -> None:
    shelf = Shelf()
    telemetry = Telemetry(shelf, sample_ratio=ratio, every_seconds=60)
    call = a_call(request_id=with_chance(part), trace_parent=parent)
    telemetry.note(call)
    await telemetry.close()
    assert shelf.calls == ([call] if is_sent else [])
    # Metrics are of all calls.
    assert [sum(reading.counts) for reading in shelf.readings] == [1]


async def test_what_is_no_call_to_a_model_is_not_told() -> None:
    shelf = Shelf()
    telemetry = Telemetry(shelf, sample_ratio=1, every_seconds=60)
    telemetry.note(a_call(endpoint="/v1/models"))
    telemetry.note(a_call(endpoint="other"))
    # A preflight: answered, and nothing came of it.
    telemetry.note(an_ended_call(status=204))
    await telemetry.close()
    assert (shelf.calls, shelf.readings) == ([], ())


async def test_many_calls_do_not_wait_for_the_next_turn() -> None:
    shelf = Shelf()
    telemetry = Telemetry(shelf, sample_ratio=1, every_seconds=3_600)
    async with following(telemetry):
        for _ in range(CALLS_DUE):
            telemetry.note(a_call())
        await wait_until_async(lambda: asyncio.sleep(0, len(shelf.calls) == CALLS_DUE))


async def test_a_collector_that_is_slow_keeps_nobody_waiting_and_what_does_not_fit_is_dropped() -> None:
    shelf = Shelf()
    shelf.taking.clear()
    telemetry = Telemetry(shelf, sample_ratio=1, every_seconds=SOON_SECONDS)
    async with following(telemetry):
        telemetry.note(a_call())
        await wait_until_async(lambda: asyncio.sleep(0, telemetry._sending is not None))
        for _ in range(CALLS_MOST + 100):
            telemetry.note(a_call())
        assert telemetry.dropped_calls == 100
        assert len(telemetry._calls) == CALLS_MOST
        shelf.taking.set()
        await wait_until_async(lambda: asyncio.sleep(0, len(shelf.calls) == CALLS_MOST + 1))
    # Every call is counted, those that were dropped too.
    telemetry.note(a_call())
    await telemetry.close()
    assert [sum(reading.counts) for reading in shelf.readings] == [CALLS_MOST + 102]
    assert shelf.is_closed


async def test_closing_sends_what_is_left_and_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CLOSE_SECONDS", 0.1)
    shelf = Shelf()
    shelf.taking.clear()
    telemetry = Telemetry(shelf, sample_ratio=1, every_seconds=60)
    telemetry.note(a_call())
    began = time.monotonic()
    await telemetry.close()
    assert time.monotonic() - began < 5
    assert shelf.is_closed
    shelf.taking.set()


def a_collector(url: str) -> Collector:
    return Collector(url, {}, service="tollkeeper", node="here")


def test_each_batch_is_small_and_nothing_is_lost_between_them() -> None:
    calls = [an_ended_call(settled=a_settled_call(), attempts=[an_attempt()]) for _ in range(2 * CALLS_AT_ONCE + 1)]
    with OtlpServer() as server:
        assert a_collector(server.url).send(calls, ()) == 0
        assert len(server.requests) == 3
        assert {span.trace_id for span in server.spans()} == {call.request_id.hex for call in calls}
        assert len(server.spans()) == 2 * len(calls)


def test_after_a_batch_that_was_not_taken_none_is_tried_and_it_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    calls = [a_call() for _ in range(3 * CALLS_AT_ONCE)]
    with OtlpServer(status=500) as server, caplog.at_level(logging.INFO):
        collector = a_collector(server.url)
        assert [collector.send(calls, ()) for _ in range(3)] == [len(calls)] * 3
        assert len(server.requests) == 3
        server.status = 200
        assert [collector.send(calls, ()) for _ in range(2)] == [0, 0]
    [away, again] = [record.getMessage() for record in caplog.records]
    assert "does not take" in away
    assert "500" in away
    assert "again" in again


def test_a_collector_that_is_away_takes_nothing() -> None:
    collector = a_collector(f"http://127.0.0.1:{free_port()}")
    # Ends the library's own attempts to try it again.
    collector._traces._client._shutdown_event.set()
    assert collector.send([a_call()], ()) == 1
