"""Micro-batches: many callers, one statement.

Rules of this file
1. A flush starts when there is work and the last flush has returned; what arrives meanwhile is the next batch. Where
   nobody waits for the result, a batch may gather for a moment first: rows cost less in one statement than in many.
2. After an ambiguous failure the same batch is sent again until its fate is known. Rows are idempotent.
3. A bad row fails alone: a batch that the database rejects is halved until the culprit stands by itself.
4. What waits is bounded in number and time. A caller who gives up takes its row along only if that was never sent.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar, cast

from tollkeeper.core.errors import QueueFull, StoreUnavailable
from tollkeeper.steady import happens, without_content

log = logging.getLogger(__name__)

Row = TypeVar("Row")
Result = TypeVar("Result")

ROWS_MOST = 256
WAITING_MOST = 8_192
RETRY_SECONDS = (0.05, 0.1, 0.2, 0.5, 1.0)


# A row, who waits for it, and since when.
Entry = tuple[Row, asyncio.Future[Result], float]


class BadRow(Exception):
    """The database rejected a statement because of what is in it."""


class Batcher(Generic[Row, Result]):
    def __init__(
        self,
        flush: Callable[[Sequence[Row]], Awaitable[Sequence[Result]]],
        *,
        patience_seconds: float | None = None,
        gather_seconds: float = 0.0,
        unclaimed: Callable[[Row, Result | None], None] = lambda *_: None,
    ) -> None:
        """Without patience every row is sent, however long that takes and whoever still waits for it."""
        self._flush = flush
        self._gather_seconds = gather_seconds
        self._patience_seconds = patience_seconds
        self._unclaimed = unclaimed
        self._waiting: deque[Entry[Row, Result]] = deque()
        self._sent: Sequence[Entry[Row, Result]] = ()
        self._running: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()

    def submit(self, row: Row) -> asyncio.Future[Result]:
        """Take a row in. Cancelling the future gives up waiting; a row already sent still takes effect."""
        if len(self._waiting) >= WAITING_MOST and self._patience_seconds is not None:
            raise QueueFull
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()
        self._waiting.append((row, future, loop.time()))
        if self._running is None:
            self._running = loop.create_task(self._run())
        return future

    def is_under_way(self, future: asyncio.Future[Result]) -> bool:
        """Whether a row was sent whose fate is not known yet."""
        return any(sent is future for _, sent, _ in self._sent)

    def hurried(self, is_wanted: Callable[[Row], bool]) -> list[asyncio.Future[Result]]:
        """Those who wait for rows that are wanted now. Nothing more is gathered before these are sent."""
        wanted = [future for row, future, _ in (*self._sent, *self._waiting) if not future.done() and is_wanted(row)]
        if wanted:
            self._hurry.set()
        return wanted

    async def drain(self) -> None:
        """Wait until everything taken in has been booked."""
        while self._running is not None:
            await asyncio.shield(self._running)

    async def _run(self) -> None:
        impatience = None if self._patience_seconds is None else asyncio.create_task(self._watch())
        try:
            while self._waiting:
                if self._gather_seconds and len(self._waiting) < ROWS_MOST:
                    await happens(self._hurry, self._gather_seconds)
                self._hurry.clear()
                self._sent = self._next_batch()
                if self._sent:
                    await self._deliver(self._sent)
                    self._sent = ()
        finally:
            self._sent = ()
            self._running = None
            if impatience is not None:
                impatience.cancel()

    async def _watch(self) -> None:
        """One clock for all rows, instead of one for each."""
        patience = self._patience_seconds or 0.0
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(patience / 16)
            for _, future, since in (*self._sent, *self._waiting):
                if loop.time() - since > patience and not future.done():
                    future.set_exception(StoreUnavailable())

    def _next_batch(self) -> list[Entry[Row, Result]]:
        batch: list[Entry[Row, Result]] = []
        while self._waiting and len(batch) < ROWS_MOST:
            entry = self._waiting.popleft()
            if self._patience_seconds is None or not entry[1].done():
                batch.append(entry)
        return batch

    async def _deliver(self, batch: Sequence[Entry[Row, Result]]) -> None:
        try:
            results: Sequence[Result | None] = await self._flush_until_known([entry[0] for entry in batch])
        except Exception as problem:  # Whatever it was, callers must be told and the queue must go on.
            if len(batch) > 1 and isinstance(problem, BadRow):
                middle = len(batch) // 2
                await self._deliver(batch[:middle])
                await self._deliver(batch[middle:])
                return
            log.error("%d rows were not booked: %s", len(batch), problem)
            self._tell(batch, [None] * len(batch), problem)
        else:
            self._tell(batch, results, None)

    def _tell(
        self, batch: Sequence[Entry[Row, Result]], results: Sequence[Result | None], problem: Exception | None
    ) -> None:
        """Everybody who waits first; then what nobody waits for any more."""
        unclaimed = []
        for (row, future, _), result in zip(batch, results, strict=True):
            if future.done():
                unclaimed.append((row, result))
            elif problem is not None:
                future.set_exception(problem)
                future.exception()  # A settle that nobody awaits must not be reported as a forgotten exception.
            else:
                future.set_result(cast("Result", result))
        for row, result in unclaimed:
            try:
                self._unclaimed(row, result)
            except Exception as mishap:  # One row's mishap is not the next one's.
                log.error("an unclaimed row was left: %s", without_content(mishap))

    async def _flush_until_known(self, rows: Sequence[Row]) -> Sequence[Result]:
        attempt = 0
        while True:
            try:
                return await self._flush(rows)
            except StoreUnavailable:
                wait = RETRY_SECONDS[min(attempt, len(RETRY_SECONDS) - 1)]
                if attempt % 10 == 0:
                    log.warning("%d rows wait for the database; the same batch is sent again", len(rows))
                attempt += 1
                await asyncio.sleep(wait)
