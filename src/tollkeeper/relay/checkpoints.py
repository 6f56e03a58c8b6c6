"""Checkpoints: how far a call has come, written every few seconds, for whoever settles it should this process die.

Rules of this file
1. What was held for by a bound is counted for the first one, also where nothing comes of the answer by then because it
   comes whole, or is long in coming. An order that was not sent costs nothing, so nothing is written for it.
2. After that something is written when more of the answer has come; and now and then where nothing comes that counts:
   the hold of a call that lives is not to run out.
"""

import asyncio
from collections.abc import Awaitable, Callable

from tollkeeper.core.errors import NodeStopping
from tollkeeper.core.money.charge import Ending
from tollkeeper.relay.by_bound import AskedInput
from tollkeeper.relay.call import Call

CHECKPOINT_SECONDS = 5.0
RENEWED_SECONDS = 60.0


class Checkpoints:
    __slots__ = (
        *("_asked", "_call", "_under_way", "_write", "_writing_tokens", "_written_at", "_written_tokens"),
        *("is_sent", "output_tokens"),
    )

    def __init__(self, call: Call, asked: AskedInput, write: Callable[[int], Awaitable[bool]]) -> None:
        """`write`: at so much output; whether this process is still taken for alive."""
        self._call = call
        self._asked = asked
        self._write = write
        # How much had come by the last that arrived, and when that was; and by the one that is on its way.
        self._written_tokens = 0
        self._written_at = asyncio.get_running_loop().time()
        self._writing_tokens = 0
        self._under_way: asyncio.Future[bool] | None = None
        # How much of the answer has come.
        self.output_tokens: Callable[[], int] = _none
        self.is_sent = False

    def begin(self) -> None:
        """The call is held for."""
        self._call.later(CHECKPOINT_SECONDS, self._look)

    def end(self) -> None:
        """It is known what the call came to, and no line that says less must follow. And whose they are is let go of: a
        circle would be kept until the garbage collector comes by."""
        self._write, self.output_tokens = _write_nothing, _none

    def _look(self) -> None:
        if self._under_way is None and self.is_sent:
            if self._asked.ask.is_bound:
                self._run(self._count_and_write())
            elif self.output_tokens() > self._written_tokens or self._silent_seconds >= RENEWED_SECONDS:
                self._run(self._write_now())
        self._call.later(CHECKPOINT_SECONDS, self._look)

    @property
    def _silent_seconds(self) -> float:
        return asyncio.get_running_loop().time() - self._written_at

    async def _count_and_write(self) -> bool:
        await self._asked.count()
        return await self._write_now()

    def _write_now(self) -> Awaitable[bool]:
        self._writing_tokens = self.output_tokens()
        return self._write(self._writing_tokens)

    def _run(self, writing: Awaitable[bool]) -> None:
        self._under_way = asyncio.ensure_future(writing)
        self._under_way.add_done_callback(self._done)

    def _done(self, written: "asyncio.Future[bool]") -> None:
        self._under_way = None
        # One that did not arrive is no harm: the stream goes on, and so will the next.
        if written.cancelled() or written.exception() is not None:
            return
        self._written_tokens, self._written_at = self._writing_tokens, asyncio.get_running_loop().time()
        if not written.result():
            self._call.end(NodeStopping(), Ending.NODE_STOPPED)


def _none() -> int:
    return 0


async def _write_nothing(_: int) -> bool:
    return True
