"""Loops that must go on: a failed step is logged, by kind and place or in its own words, and repeated next time."""

import asyncio
import contextlib
import logging
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


class Timeout:
    """Raises TimeoutError after so many seconds in the block, like `asyncio.timeout`, at a third of its cost: every
    call passes such blocks."""

    __slots__ = ("_cancelled_before", "_expired", "_more", "_task", "_timer")

    def __init__(self, seconds: float, more: Callable[[], float] = lambda: 0.0) -> None:
        """`more` is called when the time is over; it returns how many seconds to add, or 0."""
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("this belongs into a task")
        self._task = task
        self._cancelled_before = task.cancelling()
        self._expired = False
        self._more = more
        self._timer = asyncio.get_running_loop().call_later(seconds, self._expire)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, _: object, __: TracebackType | None) -> None:
        self._timer.cancel()
        # Where the task was cancelled from outside as well, the cancellation wins.
        if self._expired and self._task.uncancel() <= self._cancelled_before and kind is asyncio.CancelledError:
            raise TimeoutError

    def _expire(self) -> None:
        seconds = self._more()
        if seconds > 0:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._expire)
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
