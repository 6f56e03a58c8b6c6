"""Work on large bodies, done in a thread beside the event loop.

One at a time in each process: a step of such work keeps the interpreter to itself for up to some 80 ms at 32 MB, and
between two steps of one thread the loop has its turn. Several threads would hand that turn to each other.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from tollkeeper.core.calls.chat import ChatOrder
from tollkeeper.core.calls.native import Spoken

# Smaller ones are read in a few milliseconds at most, most of them in microseconds.
LARGE_BYTES = 256 * 1024

Came = TypeVar("Came")
AsideResult = TypeVar("AsideResult")


class Aside:
    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "large bodies")

    async def run(self, size_bytes: int, work: Callable[[], AsideResult]) -> AsideResult:
        """What `work` returns or raises: at once where it is about little, otherwise in its turn."""
        if size_bytes <= LARGE_BYTES:
            return work()
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def run_to_its_end(self, size_bytes: int, work: Callable[[], AsideResult]) -> AsideResult:
        """As `run`; but where the call is ended meanwhile, that is heard when the work is done, and not before."""
        if size_bytes <= LARGE_BYTES:
            return work()
        working = asyncio.get_running_loop().run_in_executor(self._thread, work)
        try:
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            await asyncio.wait([working])
            # Looked at, so that nobody is told of an exception that nobody has looked at.
            working.exception()
            raise

    async def write(self, order: object, work: Callable[[], AsideResult]) -> AsideResult:
        """What becomes of an order's body. Media orders are short, or pass as they came."""
        return await self.run(len(order.body) if isinstance(order, ChatOrder) else 0, work)

    async def read(self, read: Callable[[Came], AsideResult], came: Came) -> AsideResult:
        """An order out of what came. Uploads were read as they arrived."""
        body = came.body if isinstance(came, Spoken) else came
        return await self.run(len(body) if isinstance(body, bytes) else 0, lambda: read(came))
