"""What `tollkeeper work` tells of the database."""

from collections.abc import AsyncIterator

import pytest

from tollkeeper.app.database import opened
from tollkeeper.app.metrics import CHECK_BOOKS, RELAYED, WorkerWatch
from tollkeeper.jobs.check_the_books import NOT_CLEAN
from tollkeeper.metrics import table
from tollkeeper.metrics.text import lines_of
from tollkeeper.settings import Settings
from tollkeeper.storage.jobs.book import SqlJobBook
from tollkeeper.storage.postgres.database import Database, DatabaseRole


@pytest.fixture
async def worker(settings: Settings) -> AsyncIterator[Database]:
    async with opened(settings, DatabaseRole.WORKER) as database:
        yield database


async def told(worker: Database) -> dict[str, str]:
    return lines_of(await WorkerWatch(worker).collect(), 0)


async def end_check(worker: Database, *, went_well: bool, outcome: str) -> None:
    book = SqlJobBook(worker, "test")
    await book.hold({CHECK_BOOKS: 86_400})
    await book.begin(CHECK_BOOKS)
    judged = went_well or outcome.startswith(NOT_CLEAN)
    await book.end(CHECK_BOOKS, seconds=0.1, went_well=went_well, outcome=outcome, judged=judged)


async def test_a_database_in_which_nothing_happened_tells_zeros(worker: Database) -> None:
    lines = await told(worker)
    for metric in (table.OPEN_HOLDS, table.OLDEST_HOLD, table.OVERDUE_HOLDS, table.MAILS_WAITING, table.OLDEST_MAIL):
        assert lines[metric.name] == f"{metric.name} 0"
    assert lines[table.STORE_ANSWERED.name].endswith(" 1")
    assert table.BOOKS_CLEAN.name not in lines


@pytest.mark.parametrize(
    ("went_well", "outcome", "clean"),
    [(True, "clean: 19 invariants hold", "1"), (False, f"{NOT_CLEAN}: I1.", "0"), (False, "a store was away", None)],
    ids=["clean", "not clean", "could not be checked"],
)
async def test_a_check_that_could_not_be_made_says_nothing_of_the_books(
    worker: Database, went_well: bool, outcome: str, clean: str | None
) -> None:
    await end_check(worker, went_well=went_well, outcome=outcome)
    lines = await told(worker)
    wanted = None if clean is None else f"{table.BOOKS_CLEAN.name} {clean}"
    assert lines.get(table.BOOKS_CLEAN.name) == wanted
    assert (table.BOOKS_CHECKED.name in lines) is (clean is not None)
    assert lines[table.JOB_WENT_WELL.name] == f'tollkeeper_job_went_well{{name="check_books"}} {int(went_well)}'


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "not clean"])
async def test_the_last_verdict_stands_while_later_checks_run_or_cannot_be_made(worker: Database, clean: bool) -> None:
    await end_check(worker, went_well=clean, outcome="clean" if clean else NOT_CLEAN)
    verdict = await told(worker)
    await end_check(worker, went_well=False, outcome="a store was away")
    after_failure = await told(worker)
    await SqlJobBook(worker, "test").begin(CHECK_BOOKS)
    while_running = await told(worker)
    for name in (table.BOOKS_CLEAN.name, table.BOOKS_CHECKED.name):
        assert verdict[name] == after_failure[name] == while_running[name]
    assert verdict[table.BOOKS_CLEAN.name].endswith(f" {int(clean)}")


async def test_a_database_that_is_away_is_told_as_that() -> None:
    database = Database(
        "postgresql://nobody@127.0.0.1:1/none", DatabaseRole.WORKER, connections=1, patience_seconds=0.1
    )
    await database.open()
    try:
        assert await told(database) == {table.STORE_ANSWERED.name: "tollkeeper_store_answered 0"}
    finally:
        await database.close()


def test_every_endpoint_that_is_relayed_has_figures_of_its_own() -> None:
    assert "/v1/chat/completions" in RELAYED
    assert "/v1/models" not in RELAYED
