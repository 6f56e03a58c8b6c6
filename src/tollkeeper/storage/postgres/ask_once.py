"""Ask once (single-flight): callers who want the same record at the same moment share one query."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

AskedOnce = TypeVar("AskedOnce")

# A caller who comes later than this asks anew: a slow answer may be older than a change.
JOIN_WITHIN_SECONDS = 0.5


class AskOnce(Generic[AskedOnce]):
    def __init__(self) -> None:
        self._asking: dict[Hashable, tuple[float, asyncio.Task[AskedOnce]]] = {}

    async def ask(self, name: Hashable, question: Callable[[], Awaitable[AskedOnce]]) -> AskedOnce:
        begun, asking = self._asking.get(name, (float("-inf"), None))
        if asking is None or asking.done() or time.monotonic() - begun > JOIN_WITHIN_SECONDS:
            asking = asyncio.ensure_future(_run(question))
            self._asking[name] = (time.monotonic(), asking)
            asking.add_done_callback(lambda done: self._forget(name, done))
        # Shielded: one caller who hangs up must not take the answer from the others.
        return await asyncio.shield(asking)

    def forget_all(self) -> None:
        """Something changed: callers from now on must not share a query that was begun before."""
        self._asking.clear()

    def _forget(self, name: Hashable, done: "asyncio.Future[AskedOnce]") -> None:
        if self._asking.get(name, (0, None))[1] is done:
            del self._asking[name]


async def _run(question: Callable[[], Awaitable[AskedOnce]]) -> AskedOnce:
    return await question()
