"""An event loop whose clock jumps: while everybody waits, it is at once as late as the next of them waits for.

Time limits of minutes are tested in milliseconds, with the figures that the product has, and always in the same order.
"""

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec

# Nothing here waits for a thread or a socket for long: whoever does so waits for ever. While a thread works, the clock
# stands still: it would jump over whatever the thread is about to bring.
REAL_SECONDS_MOST = 10.0

Asked = ParamSpec("Asked")


class _Jumping(selectors.DefaultSelector):
    """Where it would wait for a timer, it puts the clock forward instead."""

    now = 0.0
    threads_at_work = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready: list[tuple[selectors.SelectorKey, int]] = super().select(0)
        if ready:
            return ready
        if timeout is None or (self.threads_at_work and timeout > 0):
            ready = super().select(REAL_SECONDS_MOST)
            assert ready, "everybody waits, and nothing is going to happen"
            return ready
        self.now += max(0.0, timeout)
        return []


class VirtualTime(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now

    def run_in_executor(  # type: ignore[override]  # its generics have no name in this version of Python
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> "asyncio.Future[Any]":
        work = super().run_in_executor(executor, func, *args)
        self._jumping.threads_at_work += 1
        work.add_done_callback(self._note_end_of_work)
        return work

    def _note_end_of_work(self, _: "asyncio.Future[Any]") -> None:
        self._jumping.threads_at_work -= 1


def in_virtual_time(test: Callable[Asked, Coroutine[Any, Any, None]]) -> Callable[Asked, None]:
    """Run a test on a loop of its own, in virtual time. What it leaves running is told as an error."""

    @functools.wraps(test)
    def run(*args: Asked.args, **kwargs: Asked.kwargs) -> None:
        async def whole() -> None:
            await test(*args, **kwargs)
            left = asyncio.all_tasks() - {asyncio.current_task()}
            if left:
                # Something small that was begun beside a call may be about to end.
                _, left = await asyncio.wait(left, timeout=1)
            assert not left, f"tasks were left running: {left}"

        with asyncio.Runner(loop_factory=VirtualTime) as runner:
            runner.run(whole())

    return run
