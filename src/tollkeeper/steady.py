"""Work that must go on: a failed step is logged, by kind and place or in its own words, and repeated next time.

And what is to happen later: alarms and time limits that cost little.
"""

import asyncio
import contextlib
import contextvars
import heapq
import logging
import math
import threading
import traceback
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self, TypeVar

from tollkeeper.core.errors import ForOperators, StoreUnavailable

log = logging.getLogger(__name__)

WorkDone = TypeVar("WorkDone")


async def run_and_log(name: str, step: Callable[[], Awaitable[object]]) -> bool:
    """Run one step, log its failure, return whether it succeeded. Only a cancellation ends the loop that calls this."""
    return (await tried(name, step))[0]


async def tried(name: str, step: Callable[[], Awaitable[object]]) -> tuple[bool, object]:
    """Run one step as `run_and_log` does; and what it returned or, in words, why it failed."""
    try:
        return True, await step()
    except Exception as problem:  # Whatever it is, the next turn may go well.
        told = _reason(problem)
        _log_failure(name, problem, told)
        return False, told


class RepeatedStep:
    """A step of a loop, run as `run_and_log` does; but a failure that lasts is logged once, and when it is over."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._trouble = ""

    async def run(self, step: Callable[[], Awaitable[object]]) -> bool:
        try:
            await step()
        except Exception as problem:  # As above.
            told = _reason(problem)
            if told != self._trouble:
                _log_failure(self._name, problem, told)
            self._trouble = told
            return False
        if self._trouble:
            log.info("%s goes on", self._name)
        self._trouble = ""
        return True


def _reason(problem: Exception) -> str:
    if isinstance(problem, StoreUnavailable):
        return "a store was out of reach"
    return (str(problem) if isinstance(problem, ForOperators) else "") or without_content(problem)


def _log_failure(name: str, problem: Exception, told: str) -> None:
    if isinstance(problem, StoreUnavailable):
        log.warning("%s waits: a store is out of reach", name)
    else:
        log.error("%s failed: %s", name, told)


async def wait_for_event(event: asyncio.Event, within_seconds: float) -> bool:
    """Wait for an event, but not longer. (Unlike `wait_for` of Python 3.11, this never swallows a cancellation.)"""
    try:
        async with asyncio.timeout(within_seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True


class Alarm:
    """Something that is to happen, unless it is cancelled before."""

    __slots__ = ("_alarms", "act")

    def __init__(self, act: Callable[[], None], alarms: "Alarms") -> None:
        # None when it is over.
        self.act: Callable[[], None] | None = act
        self._alarms = alarms

    def cancel(self) -> None:
        if self.act is not None:
            self.act = None
            self._alarms.awaited -= 1

    def ring(self) -> None:
        act = self.act
        self.cancel()
        if act is not None:
            act()


class Alarms:
    """The alarms of an event loop, with one timer of the loop for all: one for each would cost six times as much. Every
    call sets several, and cancels nearly all of them."""

    # So many that are over may lie among the others before they are cleared away.
    OVER_MOST = 1_024

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        # How many are not over.
        self.awaited = 0
        # A heap. The number tells those apart that ring at the same time: the first that was set rings first.
        self._set: list[tuple[float, int, Alarm]] = []
        self._number = 0
        self._timer: asyncio.TimerHandle | None = None
        self._rings_at = math.inf

    def set(self, seconds: float, act: Callable[[], None]) -> Alarm:
        at, alarm = self.loop.time() + seconds, Alarm(act, self)
        self._number += 1
        self.awaited += 1
        if len(self._set) > 2 * self.awaited + self.OVER_MOST:
            self._set = [each for each in self._set if each[2].act is not None]
            heapq.heapify(self._set)
        heapq.heappush(self._set, (at, self._number, alarm))
        if at < self._rings_at:
            self._ring_at(at)
        return alarm

    def _ring_at(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._rings_at = at
        # It belongs to no call: what one of them has in its context is not kept by it.
        self._timer = self.loop.call_at(at, self._ring, context=contextvars.Context())

    def _ring(self) -> None:
        now, self._rings_at = max(self.loop.time(), self._rings_at), math.inf
        while self._set and (self._set[0][0] <= now or self._set[0][2].act is None):
            alarm = heapq.heappop(self._set)[2]
            if alarm.act is not None:
                # What one does may cancel another that rings now as well.
                self.loop.call_soon(alarm.ring)
        if self._set:
            self._ring_at(self._set[0][0])


class _OfThread(threading.local):
    alarms: Alarms | None = None


_of_thread = _OfThread()


def later(seconds: float, act: Callable[[], None]) -> Alarm:
    """Act after so many seconds: like the loop's `call_later`, but with no context variables of who asks."""
    loop, alarms = asyncio.get_running_loop(), _of_thread.alarms
    if alarms is None or alarms.loop is not loop:
        alarms = _of_thread.alarms = Alarms(loop)
    return alarms.set(seconds, act)


class Timeout:
    """Raises TimeoutError after so many seconds in the block, like `asyncio.timeout`, at a fraction of its cost: every
    call passes such blocks."""

    __slots__ = ("_alarm", "_cancelled_before", "_expired", "_more", "_task")

    def __init__(self, seconds: float, more: Callable[[], float] = lambda: 0.0) -> None:
        """`more` is called when the time is over; it returns how many seconds to add, or 0."""
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("this belongs into a task")
        self._task = task
        self._cancelled_before = task.cancelling()
        self._expired = False
        self._more = more
        self._alarm = later(seconds, self._expire)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, _: object, __: TracebackType | None) -> None:
        self._alarm.cancel()
        # Where the task was cancelled from outside as well, the cancellation wins.
        if self._expired and self._task.uncancel() <= self._cancelled_before and kind is asyncio.CancelledError:
            raise TimeoutError

    def _expire(self) -> None:
        seconds = self._more()
        if seconds > 0:
            self._alarm = later(seconds, self._expire)
            return
        self._expired = True
        self._task.cancel()


class BackgroundTasks:
    """Small tasks beside the calls that no caller waits for (fire and forget)."""

    def __init__(self) -> None:
        self._under_way: set[asyncio.Task[bool]] = set()

    def run(self, name: str, step: Callable[[], Awaitable[object]]) -> None:
        task = asyncio.create_task(run_and_log(name, step))
        # The loop itself keeps only weak references to tasks.
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)


def in_a_thread_of_its_own(work: Callable[[], WorkDone]) -> "asyncio.Future[WorkDone]":
    """What `work` makes. A daemon thread: one that hangs does not keep the process from ending."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[WorkDone] = loop.create_future()

    def resolve(act: Callable[[], None]) -> None:
        # Nobody may wait any more, and the loop may be closed.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(lambda: None if done.done() else act())

    def run() -> None:
        try:
            made = work()
        except Exception as problem:  # Whoever waits for it hears of it.
            raised = problem
            resolve(lambda: done.set_exception(raised))
        else:
            resolve(lambda: done.set_result(made))

    threading.Thread(target=run, daemon=True).start()
    return done


def without_content(problem: Exception) -> str:
    """Kind and place of an exception. Its message is left out: it may quote what a caller sent."""
    frames = traceback.extract_tb(problem.__traceback__)
    places = " < ".join(f"{frame.name}:{frame.lineno}" for frame in reversed(frames))
    return f"{type(problem).__qualname__} at {places}"
