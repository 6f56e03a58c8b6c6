"""Work on large bodies, done in a thread beside the event loop.

One at a time in each process: a step of such work keeps the interpreter to itself for up to some 80 ms at 32 MB, and
between two steps the thread sleeps for as long as the last one took, so that half of the time is the loop's. Several
threads would hand that time to each other.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeGuard, TypeVar

from tollkeeper.core.calls.chat import ChatOrder
from tollkeeper.core.calls.native import Spoken
from tollkeeper.core.steps import let_pause

# Smaller ones are read in a few milliseconds at most, most of them in microseconds.
LARGE_BYTES = 256 * 1024

Came = TypeVar("Came")
AsideResult = TypeVar("AsideResult")


def has_large_body(order: object) -> TypeGuard[ChatOrder]:
    """Whether an order's body is long work. Media orders are short, or pass as they came."""
    return isinstance(order, ChatOrder) and len(order.body) > LARGE_BYTES


class Aside:
    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "large bodies", initializer=let_pause, initargs=(self._pause,))
        self._step_begun = self._rests_until = 0.0

    async def run(self, size_bytes: int, work: Callable[[], AsideResult]) -> AsideResult:
        """What `work` returns or raises: at once where it is about little, otherwise in its turn."""
        if size_bytes <= LARGE_BYTES:
            return work()
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._in_steps, work)

    async def run_to_its_end(self, size_bytes: int, work: Callable[[], AsideResult]) -> AsideResult:
        """As `run`; but where the call is ended meanwhile, that is heard when the work is done, and not before."""
        if size_bytes <= LARGE_BYTES:
            return work()
        working = asyncio.get_running_loop().run_in_executor(self._thread, self._in_steps, work)
        try:
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            await asyncio.wait([working])
            # Looked at, so that nobody is told of an exception that nobody has looked at.
            working.exception()
            raise

    async def read(self, read: Callable[[Came], AsideResult], came: Came) -> AsideResult:
        """An order out of what came. Uploads were read as they arrived."""
        body = came.body if isinstance(came, Spoken) else came
        size_bytes = len(body) if isinstance(body, bytes) else 0
        return read(came) if size_bytes <= LARGE_BYTES else await self.run(size_bytes, lambda: read(came))

    def _in_steps(self, work: Callable[[], AsideResult]) -> AsideResult:
        self._rest()
        try:
            return work()
        finally:
            # Its caller need not wait for that: whoever is next does.
            self._note_step()

    def _pause(self) -> None:
        self._note_step()
        self._rest()

    def _note_step(self) -> None:
        now = time.perf_counter()
        self._rests_until = now + (now - self._step_begun)

    def _rest(self) -> None:
        time.sleep(max(0.0, self._rests_until - time.perf_counter()))
        self._step_begun = time.perf_counter()
