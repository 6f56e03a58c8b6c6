"""Jobs are done by one worker at a time, taken over from those that fall silent, and kept on record."""

import asyncio
from collections.abc import AsyncIterator, Callable

import asyncpg
import pytest

from tollkeeper.app.database import opened
from tollkeeper.core.errors import StoreUnavailable
from tollkeeper.jobs.schedule import Job, Schedule
from tollkeeper.ports.jobs import JobRecord
from tollkeeper.ports.usage import LogSiteFailed
from tollkeeper.settings import Settings
from tollkeeper.storage.jobs.book import SqlJobBook, jobs_on_record
from tollkeeper.storage.postgres.database import Database, DatabaseRole

DAILY = {"daily": 86_400.0}


@pytest.fixture
async def worker(settings: Settings) -> AsyncIterator[Database]:
    async with opened(settings, DatabaseRole.WORKER) as database:
        yield database


@pytest.fixture
def one(worker: Database) -> SqlJobBook:
    return SqlJobBook(worker, "one")


@pytest.fixture
def other(worker: Database) -> SqlJobBook:
    return SqlJobBook(worker, "other")


async def the_job(worker: Database) -> JobRecord:
    [found] = await jobs_on_record(worker)
    return found


async def until(holds: Callable[[JobRecord], bool], worker: Database) -> JobRecord:
    async with asyncio.timeout(60):
        while True:
            found = await jobs_on_record(worker)
            if found and holds(found[0]):
                return found[0]
            await asyncio.sleep(0.02)


async def done_once(book: SqlJobBook) -> None:
    await book.begin("daily")
    await book.end("daily", seconds=0.5, went_well=True, outcome="3 things found", judged=True)


async def test_a_job_is_one_workers_and_due_once(worker: Database, one: SqlJobBook, other: SqlJobBook) -> None:
    assert await one.hold(DAILY) == ["daily"]
    assert await other.hold(DAILY) == []
    await done_once(one)
    assert await one.hold(DAILY) == []
    record = await the_job(worker)
    assert (record.holder, record.runs, record.failures, record.went_well) == ("one", 1, 0, True)
    assert (record.outcome, record.seconds) == ("3 things found", 0.5)
    assert record.began_at is not None
    assert (record.due_at - record.began_at).total_seconds() == 86_400


async def test_many_workers_at_once_and_each_job_has_one(worker: Database) -> None:
    jobs = {f"job_{letter}": 60.0 for letter in "abcdefgh"}
    books = [SqlJobBook(worker, f"worker {number}") for number in range(8)]
    held = await asyncio.gather(*(book.hold(jobs) for book in books))
    again = await asyncio.gather(*(book.hold(jobs) for book in books))
    # Whoever met a row that another was looking at had it the next time, or never.
    assert sorted(name for names in again for name in names) == sorted(jobs)
    assert all(set(first) <= set(second) for first, second in zip(held, again, strict=True))


async def test_the_job_of_a_silent_worker_is_anybodys(
    worker: Database, one: SqlJobBook, other: SqlJobBook, owner: asyncpg.Connection
) -> None:
    assert await one.hold(DAILY) == ["daily"]
    await one.begin("daily")
    await owner.execute("update job set held_until = now() - interval '1 s'")
    # It is due at once: nobody knows how far the other came.
    assert await other.hold(DAILY) == ["daily"]
    # It was only slow; what it found is not told over the other's.
    await one.end("daily", seconds=1, went_well=True, outcome="late", judged=True)
    assert (await the_job(worker)).outcome is None


@pytest.mark.parametrize("begun", [False, True])
async def test_who_stops_lets_go_at_once(one: SqlJobBook, other: SqlJobBook, begun: bool) -> None:
    await one.hold(DAILY)
    if begun:
        await one.begin("daily")
    await one.release()
    assert await other.hold(DAILY) == ["daily"]


@pytest.mark.parametrize(
    ("every_seconds", "judged", "due_in_seconds"),
    [(86_400.0, False, 300), (60.0, False, 60), (86_400.0, True, 3600), (60.0, True, 60)],
    ids=["could not be done", "and is often due", "a bad verdict", "and is often due, with a bad verdict"],
)
async def test_what_failed_is_soon_due_again_and_a_bad_verdict_within_the_hour(
    worker: Database, one: SqlJobBook, every_seconds: float, judged: bool, due_in_seconds: float
) -> None:
    await one.hold({"daily": every_seconds})
    await one.begin("daily")
    await one.end("daily", seconds=0.5, went_well=False, outcome="the disk was full", judged=judged)
    record = await the_job(worker)
    assert record.ended_at is not None
    assert (record.due_at - record.ended_at).total_seconds() == due_in_seconds


async def test_a_schedule_does_what_is_due_and_keeps_what_came_of_it(worker: Database, one: SqlJobBook) -> None:
    done = asyncio.Event()

    async def count() -> int:
        done.set()
        return 7

    schedule = asyncio.create_task(Schedule([Job("daily", 86_400, count, "lots closed")], one).run_forever())
    await done.wait()
    record = await until(lambda job: job.runs == 1, worker)
    schedule.cancel()
    await asyncio.gather(schedule, return_exceptions=True)
    assert (record.went_well, record.outcome) == (True, "7 lots closed")
    assert (await the_job(worker)).holder is None


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        (StoreUnavailable(), "a store was out of reach"),
        (KeyError("a secret"), "KeyError at"),
        (LogSiteFailed("The log site did not take a file: the disk is full."), "The log site did not take a file: the"),
        (LogSiteFailed(), "LogSiteFailed at"),
    ],
)
async def test_a_job_that_fails_is_told_without_content_and_tried_again(
    worker: Database, one: SqlJobBook, caplog: pytest.LogCaptureFixture, problem: Exception, told: str
) -> None:
    async def fail() -> None:
        raise problem

    schedule = asyncio.create_task(Schedule([Job("often", 0.001, fail)], one).run_forever())
    record = await until(lambda job: job.failures >= 2, worker)
    schedule.cancel()
    await asyncio.gather(schedule, return_exceptions=True)
    assert record.went_well is False
    assert (record.outcome or "").startswith(told)
    assert "secret" not in str(record) + caplog.text


async def test_a_bad_verdict_is_told_from_a_check_that_could_not_be_made(worker: Database, one: SqlJobBook) -> None:
    answers: list[Exception] = [LogSiteFailed("The sums are wrong: 3."), LogSiteFailed("The disk was full.")]

    async def check() -> None:
        raise answers.pop(0)

    job = Job("often", 0.001, check, bad_verdict="The sums are wrong")
    schedule = asyncio.create_task(Schedule([job], one).run_forever())
    record = await until(lambda job: job.outcome == "The disk was full.", worker)
    schedule.cancel()
    await asyncio.gather(schedule, return_exceptions=True)
    assert record.judged_well is False
    assert record.judged_at is not None
    assert record.ended_at is not None
    assert record.judged_at < record.ended_at


async def test_a_job_under_way_is_not_begun_again(worker: Database, one: SqlJobBook, owner: asyncpg.Connection) -> None:
    begun, may_end = asyncio.Semaphore(0), asyncio.Event()
    count = 0

    async def wait() -> None:
        nonlocal count
        count += 1
        begun.release()
        await may_end.wait()

    schedule = asyncio.create_task(Schedule([Job("often", 0.001, wait)], one).run_forever())
    await begun.acquire()
    first = await owner.fetchval("select held_until from job")
    while await owner.fetchval("select held_until from job") == first:  # noqa: ASYNC110 (it looks once a second)
        await asyncio.sleep(0.05)
    assert count == 1
    may_end.set()
    await begun.acquire()
    schedule.cancel()
    await asyncio.gather(schedule, return_exceptions=True)
    assert (await the_job(worker)).holder is None
