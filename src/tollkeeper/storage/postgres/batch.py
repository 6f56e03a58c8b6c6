"""Micro-batching: rows of many callers go to the database in one statement (a group commit).

Rules of this file
1. A flush starts when there is work and the last flush has returned; rows that arrive meanwhile are the next batch. If
   no caller waits for the result, a batch may gather for a moment first: rows cost less in one statement than in many.
2. After an ambiguous failure the same batch is sent again until its fate is known. Rows are idempotent. A failure that
   nobody has foreseen is ambiguous, too, a few times: if it stays, it may be a row's.
3. A bad row fails alone: a batch that the database rejects is halved until the culprit stands by itself.
4. The queue is bounded in rows and time. A caller who gives up withdraws its row only if that was never sent.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from itertools import chain
from typing import Generic, TypeVar, cast

from tollkeeper.core.errors import QueueFull, StoreUnavailable, WorkerFenced
from tollkeeper.metrics.series import Distribution
from tollkeeper.metrics.table import ROW_BUCKETS
from tollkeeper.steady import Alarm, later, wait_for_event, without_content

log = logging.getLogger(__name__)

Row = TypeVar("Row")
RowResult = TypeVar("RowResult")

ROWS_MOST = 256
WAITING_MOST = 8_192
RETRY_SECONDS = (0.05, 0.1, 0.2, 0.5, 1.0)


# A row, who waits for it, and since when.
BatchEntry = tuple[Row, asyncio.Future[RowResult], float]


class BadRow(Exception):
    """The database rejected a statement because of what is in it."""


class Unforeseen(BadRow):
    """It failed again and again in a way that says nothing of what became of it."""


class Batcher(Generic[Row, RowResult]):
    def __init__(
        self,
        flush: Callable[[Sequence[Row]], Awaitable[Sequence[RowResult]]],
        *,
        patience_seconds: float | None = None,
        gather_seconds: float = 0.0,
        unclaimed: Callable[[Row, RowResult | None], None] = lambda *_: None,
    ) -> None:
        """Without `patience_seconds` every row is sent, however long that takes, also when its caller has given up."""
        self._flush = flush
        self._gather_seconds = gather_seconds
        self._patience_seconds = patience_seconds
        self._unclaimed = unclaimed
        self._waiting: deque[BatchEntry[Row, RowResult]] = deque()
        self._sent: Sequence[BatchEntry[Row, RowResult]] = ()
        self._running: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()
        self._alarm: Alarm | None = None
        # How many batches have come back: whoever asks for something else meanwhile can tell whether its answer is old.
        self.returned = 0
        # How many rows went in one statement.
        self.sizes = Distribution(ROW_BUCKETS)

    def submit(self, row: Row) -> asyncio.Future[RowResult]:
        """Take a row in. Cancelling the future gives up waiting; a row already sent still takes effect."""
        if len(self._waiting) >= WAITING_MOST and self._patience_seconds is not None:
            raise QueueFull
        loop = asyncio.get_running_loop()
        future: asyncio.Future[RowResult] = loop.create_future()
        self._waiting.append((row, future, loop.time()))
        if self._running is None:
            self._running = loop.create_task(self._run())
        return future

    @property
    def rows(self) -> int:
        """Rows whose fate is not known yet."""
        return len(self._sent) + len(self._waiting)

    @property
    def oldest_seconds(self) -> float:
        """How long the oldest of them has waited."""
        oldest = next(chain(self._sent, self._waiting), None)
        return 0.0 if oldest is None else asyncio.get_running_loop().time() - oldest[2]

    def is_under_way(self, future: asyncio.Future[RowResult]) -> bool:
        """Whether a row was sent whose fate is not known yet."""
        return any(sent is future for _, sent, _ in self._sent)

    def hurry(self) -> None:
        """Somebody waits: the batch stops gathering."""
        self._hurry.set()

    def hurried(self, is_wanted: Callable[[Row], bool]) -> list[asyncio.Future[RowResult]]:
        """The futures of rows that are wanted now, sent or waiting. The batch stops gathering."""
        wanted = [future for row, future, _ in (*self._sent, *self._waiting) if not future.done() and is_wanted(row)]
        if wanted:
            self.hurry()
        return wanted

    async def drain(self) -> None:
        """Wait until everything taken in has been booked."""
        while self._running is not None:
            await asyncio.shield(self._running)

    async def _run(self) -> None:
        self._watch()
        try:
            while self._waiting:
                if self._gather_seconds and len(self._waiting) < ROWS_MOST:
                    await wait_for_event(self._hurry, self._gather_seconds)
                self._hurry.clear()
                self._sent = self._next_batch()
                if self._sent:
                    self.sizes.note(len(self._sent))
                    await self._deliver(self._sent)
                    self._sent = ()
        finally:
            self._sent = ()
            self._running = None
            if self._alarm is not None:
                self._alarm.cancel()

    def _watch(self) -> None:
        """One clock for all rows, instead of one for each."""
        if self._patience_seconds is not None:
            self._alarm = later(self._patience_seconds / 16, self._look)

    def _look(self) -> None:
        too_old = asyncio.get_running_loop().time() - (self._patience_seconds or 0.0)
        for _, future, since in (*self._sent, *self._waiting):
            if since < too_old and not future.done():
                future.set_exception(StoreUnavailable())
        self._watch()

    def _next_batch(self) -> list[BatchEntry[Row, RowResult]]:
        batch: list[BatchEntry[Row, RowResult]] = []
        while self._waiting and len(batch) < ROWS_MOST:
            entry = self._waiting.popleft()
            if self._patience_seconds is None or not entry[1].done():
                batch.append(entry)
        return batch

    async def _deliver(self, batch: Sequence[BatchEntry[Row, RowResult]]) -> None:
        try:
            results: Sequence[RowResult | None] = await self._flush_until_known([entry[0] for entry in batch])
        except Exception as problem:  # Whatever it was, callers must be told and the queue must go on.
            if len(batch) > 1 and isinstance(problem, BadRow):
                middle = len(batch) // 2
                await self._deliver(batch[:middle])
                await self._deliver(batch[middle:])
                return
            log.error("%d rows were not booked: %s", len(batch), problem)
            self._resolve(batch, [None] * len(batch), problem)
        else:
            self._resolve(batch, results, None)

    def _resolve(
        self,
        batch: Sequence[BatchEntry[Row, RowResult]],
        results: Sequence[RowResult | None],
        problem: Exception | None,
    ) -> None:
        """Resolve the futures of waiting callers first; then handle rows whose callers gave up."""
        self.returned += 1
        unclaimed = []
        for (row, future, _), result in zip(batch, results, strict=True):
            if future.done():
                unclaimed.append((row, result))
            elif problem is not None:
                future.set_exception(problem)
                future.exception()  # Marks it as retrieved: asyncio would report a settlement that no task awaits.
            else:
                future.set_result(cast("RowResult", result))
        for row, result in unclaimed:
            try:
                self._unclaimed(row, result)
            except Exception as mishap:  # One row's mishap is not the next one's.
                log.error("an unclaimed row was left: %s", without_content(mishap))

    async def _flush_until_known(self, rows: Sequence[Row]) -> Sequence[RowResult]:
        attempt = surprises = 0
        while True:
            try:
                return await self._flush(rows)
            except (BadRow, WorkerFenced):
                raise
            except StoreUnavailable:
                if attempt % 10 == 0:
                    log.warning("%d rows wait for the database; the same batch is sent again", len(rows))
            except Exception as surprise:  # Nobody knows what became of the rows: it may have come after the commit.
                surprises += 1
                log.error("%d rows are sent again: %s", len(rows), without_content(surprise))
                if surprises > len(RETRY_SECONDS):
                    raise Unforeseen(without_content(surprise)) from surprise
            await asyncio.sleep(RETRY_SECONDS[min(attempt, len(RETRY_SECONDS) - 1)])
            attempt += 1
