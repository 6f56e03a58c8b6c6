"""Checkpoints: how far a call has come, written every few seconds, for whoever settles it should this process die.

Rules of this file
1. What was held for by a bound is counted for the first one, also where nothing comes of the answer by then because it
   comes whole, or is long in coming. An order that was not sent costs nothing, so nothing is written for it.
"""

import asyncio
from collections.abc import Awaitable, Callable

from tollkeeper.core.errors import NodeStopping
from tollkeeper.core.money.charge import Ending
from tollkeeper.relay.by_bound import AskedInput
from tollkeeper.relay.call import Call

CHECKPOINT_SECONDS = 5.0


class Checkpoints:
    __slots__ = ("_after", "_asked", "_call", "_output_tokens", "_under_way", "_write", "is_over", "is_sent")

    def __init__(self, call: Call, asked: AskedInput, write: Callable[[int], Awaitable[bool]]) -> None:
        """`write`: at so much output; whether this process is still taken for alive."""
        self._call = call
        self._asked = asked
        self._write = write
        self._after = asyncio.get_running_loop().time() + CHECKPOINT_SECONDS
        self._under_way: asyncio.Future[bool] | None = None
        self._output_tokens: Callable[[], int] = lambda: 0
        self.is_sent = False
        self.is_over = False

    def begin(self) -> None:
        """The call is held for."""
        if self._asked.ask.is_bound:
            self._call.later(CHECKPOINT_SECONDS, self._look)

    def note(self, output_tokens: Callable[[], int]) -> None:
        """More of the answer has come."""
        now = asyncio.get_running_loop().time()
        if now < self._after or self._under_way is not None:
            return
        self._after, self._output_tokens = now + CHECKPOINT_SECONDS, output_tokens
        self._run(self._count_and_write() if self._asked.ask.is_bound else self._write(output_tokens()))

    def _look(self) -> None:
        if self._asked.ask.is_bound and self._under_way is None and self.is_sent:
            self._run(self._count_and_write())
        elif self._asked.ask.is_bound:
            self._call.later(CHECKPOINT_SECONDS, self._look)

    async def _count_and_write(self) -> bool:
        await self._asked.count()
        # What is settled must not be followed by a line that says less.
        return True if self.is_over else await self._write(self._output_tokens())

    def _run(self, writing: Awaitable[bool]) -> None:
        self._under_way = asyncio.ensure_future(writing)
        self._under_way.add_done_callback(self._done)

    def _done(self, written: "asyncio.Future[bool]") -> None:
        self._under_way = None
        # One that did not arrive is no harm: the stream goes on, and so will the next.
        arrived = not written.cancelled() and written.exception() is None
        if arrived and not written.result():
            self._call.end(NodeStopping(), Ending.NODE_STOPPED)
