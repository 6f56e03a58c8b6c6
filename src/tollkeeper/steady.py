"""Work that must go on: what fails is told, by kind and place or in its own words, and tried again at its next turn."""

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

from tollkeeper.core.errors import ForOperators, StoreUnavailable

log = logging.getLogger(__name__)


async def survive(name: str, step: Callable[[], Awaitable[object]]) -> bool:
    """Run one step; whether it succeeded. Nothing but cancellation ends the work that calls this again and again."""
    return (await tried(name, step))[0]


async def tried(name: str, step: Callable[[], Awaitable[object]]) -> tuple[bool, object]:
    """Likewise; and what the step returned or, in words, why it failed."""
    try:
        return True, await step()
    except StoreUnavailable:
        log.warning("%s waits: a store is out of reach", name)
        return False, "a store was out of reach"
    except Exception as problem:  # Whatever it is, the next turn may go well.
        told = (str(problem) if isinstance(problem, ForOperators) else "") or without_content(problem)
        log.error("%s failed: %s", name, told)
        return False, told


async def happens(event: asyncio.Event, within_seconds: float) -> bool:
    """Wait for an event, but not longer. (Unlike `wait_for` of Python 3.11, this never swallows a cancellation.)"""
    try:
        async with asyncio.timeout(within_seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True


class Within:
    """Raises TimeoutError after so many seconds in the block: what `asyncio.timeout` does, at a third of its cost, for
    what every call goes through."""

    __slots__ = ("_cancelled_before", "_expired", "_more", "_task", "_timer")

    def __init__(self, seconds: float, more: Callable[[], float] = lambda: 0.0) -> None:
        """`more` is asked when they are over, and says how many there are still."""
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
        # Where somebody else wants the task to end as well, that is what happens.
        if self._expired and self._task.uncancel() <= self._cancelled_before and kind is asyncio.CancelledError:
            raise TimeoutError

    def _expire(self) -> None:
        seconds = self._more()
        if seconds > 0:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._expire)
            return
        self._expired = True
        self._task.cancel()


class Errands:
    """Small things that are done beside a call, without anybody waiting for them."""

    def __init__(self) -> None:
        self._under_way: set[asyncio.Task[bool]] = set()

    def run(self, name: str, step: Callable[[], Awaitable[object]]) -> None:
        errand = asyncio.create_task(survive(name, step))
        # The loop itself keeps only weak references to tasks.
        self._under_way.add(errand)
        errand.add_done_callback(self._under_way.discard)


def without_content(problem: Exception) -> str:
    """Kind and place of an exception. Its message is left out: it may quote what a caller sent."""
    frames = traceback.extract_tb(problem.__traceback__)
    places = " < ".join(f"{frame.name}:{frame.lineno}" for frame in reversed(frames))
    return f"{type(problem).__qualname__} at {places}"
