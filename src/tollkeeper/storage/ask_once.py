"""Ask once: however many callers want the same thing at the same moment, the database is asked for it once."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

Answer = TypeVar("Answer")

# Who comes later than this asks anew: an answer that took long may speak of a time before a change.
JOIN_WITHIN_SECONDS = 0.5


class AskOnce(Generic[Answer]):
    def __init__(self) -> None:
        self._asking: dict[Hashable, tuple[float, asyncio.Task[Answer]]] = {}

    async def ask(self, name: Hashable, question: Callable[[], Awaitable[Answer]]) -> Answer:
        begun, asking = self._asking.get(name, (float("-inf"), None))
        if asking is None or asking.done() or time.monotonic() - begun > JOIN_WITHIN_SECONDS:
            asking = asyncio.ensure_future(_run(question))
            self._asking[name] = (time.monotonic(), asking)
            asking.add_done_callback(lambda done: self._forget(name, done))
        # Shielded: one caller who hangs up must not take the answer from the others.
        return await asyncio.shield(asking)

    def forget_all(self) -> None:
        """Something changed: who asks from now on must not be given an answer that is already on its way."""
        self._asking.clear()

    def _forget(self, name: Hashable, done: "asyncio.Future[Answer]") -> None:
        if self._asking.get(name, (0, None))[1] is done:
            del self._asking[name]


async def _run(question: Callable[[], Awaitable[Answer]]) -> Answer:
    return await question()
