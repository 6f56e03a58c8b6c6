"""Micro-batches: natural, bounded, stubborn, and fair to good rows."""

import asyncio
from collections.abc import Sequence

import pytest

from tollkeeper.core.errors import QueueFull, StoreUnavailable
from tollkeeper.storage.postgres import batch
from tollkeeper.storage.postgres.batch import BadRow, Batcher, Unforeseen


class Desk:
    """Books rows when told to, as a database would."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.open = asyncio.Event()
        self.failures: list[Exception] = []
        self.bad: set[int] = set()

    async def book(self, rows: Sequence[int]) -> Sequence[int]:
        self.batches.append(list(rows))
        await self.open.wait()
        if self.failures:
            raise self.failures.pop(0)
        if self.bad & set(rows):
            raise BadRow("one of these")
        return [row * 10 for row in rows]


async def test_what_arrives_during_a_flush_is_the_next_batch() -> None:
    desk = Desk()
    batcher = Batcher(desk.book)
    first = batcher.submit(1)
    await asyncio.sleep(0)
    rest = [batcher.submit(row) for row in (2, 3, 4)]
    desk.open.set()
    assert await asyncio.gather(first, *rest) == [10, 20, 30, 40]
    assert desk.batches == [[1], [2, 3, 4]]


async def test_a_batch_has_its_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "ROWS_MOST", 3)
    desk = Desk()
    desk.open.set()
    batcher = Batcher(desk.book)
    assert await asyncio.gather(*map(batcher.submit, range(7))) == [0, 10, 20, 30, 40, 50, 60]
    assert [len(rows) for rows in desk.batches] == [3, 3, 1]


async def test_the_same_batch_is_sent_again_until_its_fate_is_known() -> None:
    desk = Desk()
    desk.open.set()
    desk.failures = [StoreUnavailable(), StoreUnavailable()]
    batcher = Batcher(desk.book)
    assert list(await asyncio.gather(batcher.submit(1), batcher.submit(2))) == [10, 20]
    assert desk.batches == [[1, 2]] * 3


async def test_bad_rows_fail_alone() -> None:
    desk = Desk()
    desk.open.set()
    desk.bad = {3, 6}
    batcher = Batcher(desk.book)
    results = await asyncio.gather(*map(batcher.submit, range(8)), return_exceptions=True)
    assert [type(result) if isinstance(result, Exception) else result for result in results] == [
        0,
        10,
        20,
        BadRow,
        40,
        50,
        BadRow,
        70,
    ]


async def test_a_full_queue_refuses_at_once_but_never_a_row_that_must_be_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "WAITING_MOST", 2)
    desk = Desk()
    batcher, stubborn = Batcher(desk.book, patience_seconds=5), Batcher(desk.book)
    waiting = []
    for taker in (batcher, stubborn):
        waiting.append(taker.submit(1))
        await asyncio.sleep(0)
        waiting += [taker.submit(2), taker.submit(3)]
    with pytest.raises(QueueFull):
        batcher.submit(4)
    waiting.append(stubborn.submit(4))
    desk.open.set()
    assert await asyncio.gather(*waiting) == [10, 20, 30, 10, 20, 30, 40]


async def test_who_waits_too_long_is_told_and_what_was_sent_is_still_resolved() -> None:
    desk = Desk()
    unclaimed: list[tuple[int, int | None]] = []
    batcher = Batcher(desk.book, patience_seconds=0.05, unclaimed=lambda row, result: unclaimed.append((row, result)))
    sent = batcher.submit(1)
    await asyncio.sleep(0)
    unsent = batcher.submit(2)
    for future in (sent, unsent):
        with pytest.raises(StoreUnavailable):
            await future
    desk.open.set()
    await batcher.drain()
    assert unclaimed == [(1, 10)]
    assert desk.batches == [[1]]


async def test_who_gives_up_before_the_row_is_sent_takes_it_along() -> None:
    desk = Desk()
    batcher = Batcher(desk.book, patience_seconds=5)
    first, second, third = batcher.submit(1), batcher.submit(2), batcher.submit(3)
    second.cancel()
    desk.open.set()
    assert list(await asyncio.gather(first, third)) == [10, 30]
    assert desk.batches == [[1, 3]]


async def test_what_was_sent_for_someone_who_gave_up_is_told() -> None:
    desk = Desk()
    unclaimed: list[tuple[int, int | None]] = []
    batcher = Batcher(desk.book, patience_seconds=5, unclaimed=lambda row, result: unclaimed.append((row, result)))
    leaving = batcher.submit(1)
    await asyncio.sleep(0)
    leaving.cancel()
    desk.open.set()
    await batcher.drain()
    assert unclaimed == [(1, 10)]


async def test_a_row_that_must_be_sent_is_sent_even_if_nobody_waits() -> None:
    desk = Desk()
    batcher = Batcher(desk.book)
    batcher.submit(1).cancel()
    desk.open.set()
    await batcher.drain()
    assert desk.batches == [[1]]


async def test_an_unforeseen_failure_may_have_come_after_the_commit() -> None:
    desk = Desk()
    desk.open.set()
    desk.failures = [RuntimeError("surprise"), AttributeError("another")]
    batcher = Batcher(desk.book)
    assert await batcher.submit(1) == 10
    assert desk.batches == [[1]] * 3


async def test_after_one_that_stays_the_next_rows_are_booked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "RETRY_SECONDS", (0.0, 0.0))
    desk = Desk()
    desk.open.set()
    desk.failures = [RuntimeError("surprise") for _ in range(3)]
    batcher = Batcher(desk.book)
    with pytest.raises(Unforeseen):
        await batcher.submit(1)
    assert await batcher.submit(2) == 20


async def test_rows_gather_for_a_moment_where_nobody_waits() -> None:
    desk = Desk()
    desk.open.set()
    batcher = Batcher(desk.book, gather_seconds=0.05)
    first = batcher.submit(1)
    await asyncio.sleep(0)
    rest = [batcher.submit(row) for row in (2, 3)]
    assert await asyncio.gather(first, *rest) == [10, 20, 30]
    assert desk.batches == [[1, 2, 3]]


async def test_a_full_batch_gathers_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "ROWS_MOST", 3)
    desk = Desk()
    desk.open.set()
    batcher = Batcher(desk.book, gather_seconds=3600)
    async with asyncio.timeout(5):
        assert await asyncio.gather(*map(batcher.submit, (1, 2, 3))) == [10, 20, 30]


async def test_what_is_wanted_now_is_sent_now_and_the_next_gather_again() -> None:
    desk = Desk()
    desk.open.set()
    batcher = Batcher(desk.book, gather_seconds=3600)
    rows = [batcher.submit(row) for row in (1, 2)]
    assert batcher.hurried(lambda row: row == 7) == []
    assert batcher.hurried(lambda row: row == 2) == [rows[1]]
    async with asyncio.timeout(5):
        assert await asyncio.gather(*rows) == [10, 20]
    later = batcher.submit(3)
    await asyncio.sleep(0.05)
    assert not later.done()
    assert batcher.hurried(lambda row: row == 3) == [later]
    assert await later == 30


async def test_what_is_under_way_is_wanted_too() -> None:
    desk = Desk()
    batcher = Batcher(desk.book)
    sent = batcher.submit(1)
    await asyncio.sleep(0)
    assert batcher.hurried(lambda row: row == 1) == [sent]
    desk.open.set()
    assert await sent == 10
    assert batcher.hurried(lambda row: row == 1) == []


async def test_what_gathers_is_booked_before_the_end() -> None:
    desk = Desk()
    desk.open.set()
    batcher = Batcher(desk.book, gather_seconds=0.02)
    row = batcher.submit(1)
    await batcher.drain()
    assert row.done()
