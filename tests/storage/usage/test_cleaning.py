"""Cleaning the usage log: what is copied first, what is dropped then, and what never is."""

import asyncio
import csv
import gzip
import hashlib
import io
import urllib.request
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from uuid import UUID

import asyncpg
import msgspec
import obstore
import pytest
from moto.server import ThreadedMotoServer
from obstore.store import LocalStore, S3Store

from tests.customers import Customer, Customers
from tests.storage.catalog.examples import IN_PARTS, USAGE_PARTS
from tests.storage.customers.benches import Market
from tests.storage.ledger.test_books import findings
from tests.storage.usage.benches import UsageBench, a_bench
from tollkeeper.accounts.cleaned_log import CustomersCopy
from tollkeeper.app.database import opened
from tollkeeper.core.catalog.models import Unit
from tollkeeper.core.money.parts import UsageParts
from tollkeeper.core.usage.log import UsageFilter
from tollkeeper.core.usage.log_copy import Manifest, lines_of
from tollkeeper.jobs import clean_usage_log as job
from tollkeeper.jobs.clean_usage_log import Turn, clean_usage_log, clean_usage_log_in_turn, prepare_copy
from tollkeeper.log_site.folder import FolderSite
from tollkeeper.log_site.s3 import Bucket, S3Site
from tollkeeper.ports.usage import DayChanged, LogSite, LogSiteFailed
from tollkeeper.settings import Settings
from tollkeeper.storage.postgres.database import Database, DatabaseRole
from tollkeeper.storage.usage.receipts import SqlReceipts
from tools.services.process import free_port

BUCKET = "the-log-site"
SECRET = "a-secret-of-the-bucket"


class Place:
    """A log site, and what is in it."""

    def __init__(self, site: LogSite, store: LocalStore | S3Store) -> None:
        self.site = site
        self._store = store

    def files(self) -> dict[str, bytes]:
        paths = sorted(each["path"] for found in obstore.list(self._store) for each in found)
        return {path: bytes(obstore.get(self._store, path).bytes()) for path in paths}

    def lose(self, path: str) -> None:
        obstore.delete(self._store, path)

    def shorten(self, path: str) -> None:
        obstore.put(self._store, path, self.files()[path][:-1])

    def calls(self) -> dict[str, list[str]]:
        """The request ids of each file of the copies."""
        return {
            path.rpartition("/")[2]: [row["request_id"] for row in csv.DictReader(io.StringIO(_text(content)))]
            for path, content in self.files().items()
            if path.startswith("copies/")
        }


def _text(content: bytes) -> str:
    return gzip.decompress(content).decode()


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=free_port(), verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(params=["folder", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "folder":
        folder = tmp_path / "log-site"
        folder.mkdir()
        return Place(FolderSite(folder), LocalStore(folder))
    endpoint = request.getfixturevalue("s3")
    name = f"{BUCKET}-{hashlib.sha256(str(tmp_path).encode()).hexdigest()[:16]}"
    with urllib.request.urlopen(urllib.request.Request(f"{endpoint}/{name}", method="PUT")):  # noqa: S310
        pass
    bucket = Bucket(name=name, prefix="a/b", endpoint=endpoint, region="us-east-1", key_id="me", secret=SECRET)
    store = S3Store(
        name,
        prefix="a/b",
        endpoint=endpoint,
        region="us-east-1",
        access_key_id="me",
        secret_access_key=SECRET,
        client_options={"allow_http": True},
    )
    return Place(S3Site(bucket), store)


@pytest.fixture
async def bench(
    settings: Settings, owner: asyncpg.Connection, customers: Customers, tmp_path: Path
) -> AsyncIterator[UsageBench]:
    async with a_bench(settings, owner, customers, tmp_path / "journal") as made:
        yield made
    broken = {invariant: found for invariant, found in (await findings(settings)).items() if found}
    assert not broken


@pytest.fixture
async def console(settings: Settings) -> AsyncIterator[Database]:
    async with opened(settings, DatabaseRole.CONSOLE) as database:
        yield database


async def days_of_calls(bench: UsageBench, customer: Customer, model: str, days: int) -> dict[date, list[str]]:
    """Two calls a day; their ids."""
    made = {}
    for _ in range(days):
        made[await bench.today()] = [str(await bench.call(customer, model)) for _ in range(2)]
        await bench.pass_days(1)
    return made


async def late_calls(bench: UsageBench, customer: Customer, model: str, day: date) -> list[str]:
    """Two calls of that day that come only now; the ids of all that the log has of it."""
    await bench.many_calls(customer, model, 2, until=datetime.combine(day, time(18), UTC))
    found = await bench.owner.fetch("select request_id from usage where usage_day_of(request_id) = $1", day)
    return sorted(str(row["request_id"]) for row in found)


async def is_whole(place: Place) -> bool:
    """Whether the copy is what its manifest says."""
    manifest, files = await place.site.manifest(), place.files()
    assert manifest is not None
    contents = [(each, files[f"copies/{manifest.copy}/{each.file}"]) for each in manifest.days]
    return all(
        (each.size_bytes, each.sha256, each.rows)
        == (len(content), hashlib.sha256(content).hexdigest(), len(_text(content).splitlines()) - 1)
        for each, content in contents
    )


def file_of(day: date) -> str:
    return f"usage-{day}.csv.gz"


@pytest.mark.rule("S9.3")
async def test_cleaned_days_are_on_the_log_site_whole_and_the_next_cleanup_overwrites_them(
    bench: UsageBench, place: Place
) -> None:
    customer, model = await bench.customers.a_customer(), await bench.a_model()
    made = await days_of_calls(bench, customer, model, 4)
    first, second, third, fourth = made
    await clean_usage_log(bench.cleaning, place.site, third)
    assert {file: sorted(calls) for file, calls in place.calls().items()} == {
        file_of(day): sorted(made[day]) for day in (first, second)
    }
    assert await is_whole(place)
    await clean_usage_log(bench.cleaning, place.site, fourth)
    assert list(place.calls()) == [file_of(third)]
    assert len(place.files()) == 2
    left = await bench.log.page(UsageFilter(), after=None, limit=10)
    assert {str(line.request_id) for line in left.lines} == set(made[fourth])


async def test_a_customer_reads_their_calls_back_from_the_copy_as_they_were_in_the_log(
    bench: UsageBench, place: Place
) -> None:
    customer, other, model = (
        await bench.customers.a_customer(),
        await bench.customers.a_customer(),
        await bench.a_model(),
    )
    days = sorted([*await days_of_calls(bench, customer, model, 2), *await days_of_calls(bench, other, model, 1)])
    wanted = UsageFilter(account_id=customer.account_id)
    before = await bench.log.page(wanted, after=None, limit=10)
    await clean_usage_log(bench.cleaning, place.site, days[-1] + timedelta(days=1))
    assert not (await bench.log.page(wanted, after=None, limit=10)).lines
    manifest = await place.site.manifest()
    assert manifest is not None
    names = {line.key_id: line.key_name for line in before.lines}
    copy = CustomersCopy(site=place.site, manifest=manifest, account_id=customer.account_id, key_names=names)
    assert len(before.lines) == 4
    assert list((await copy.page(after=None, limit=10)).lines) == list(before.lines)
    first = await copy.page(after=None, limit=3)
    assert (list(first.lines), first.next) == (list(before.lines[:3]), before.lines[2].request_id)
    assert list((await copy.page(after=first.next, limit=3)).lines) == list(before.lines[3:])


async def test_a_days_file_tells_the_parts_of_a_calls_usage(bench: UsageBench, tmp_path: Path) -> None:
    customer, model, day = await bench.customers.a_customer(), await bench.a_model(), await bench.today()
    order, plain = await bench.begin(customer, model), await bench.call(customer, model)
    await bench.end(order, usage=IN_PARTS)
    await bench.pass_days(1)
    async with bench.cleaning.alone() as cleaner:
        assert cleaner is not None
        assert (await cleaner.write_day(day, tmp_path / "day")).rows == 2
    text = _text((tmp_path / "day").read_bytes())
    parts = {UUID(row["request_id"]): row["parts"] for row in csv.DictReader(io.StringIO(text))}
    assert parts.pop(plain) == ""
    assert {call: msgspec.json.decode(told, type=UsageParts) for call, told in parts.items()} == {
        order.request_id: USAGE_PARTS
    }
    lines = list(lines_of(text.splitlines()[1:], {}))
    assert [(line.input_units, line.unit) for line in lines] == [
        (IN_PARTS.input_units, Unit.TOKEN),
        (10, Unit.TOKEN),
    ]


async def test_a_copy_that_was_prepared_is_taken_as_it_is(bench: UsageBench, place: Place) -> None:
    customer, model = await bench.customers.a_customer(), await bench.a_model()
    made = await days_of_calls(bench, customer, model, 6)
    turn = Turn(keep_days=2, every_days=6)
    assert await prepare_copy(bench.cleaning, place.site, turn) == 3
    # Nobody takes it for a copy yet, and no cleaning up removes it.
    assert await place.site.manifest() is None
    await place.site.forget_others()
    assert await prepare_copy(bench.cleaning, place.site, turn) == 3
    assert await prepare_copy(bench.cleaning, place.site, turn) == 0
    prepared, files = await place.site.prepared(), place.files()
    assert prepared is not None
    # The log begins with a day or two without a call, as the day of the week has it.
    with_calls = [each for each in prepared.days if each.rows]
    assert len(prepared.days) == 6
    assert [each.day for each in with_calls] == sorted(made)[: len(with_calls)]
    cleaned = await clean_usage_log(bench.cleaning, place.site, sorted(made)[len(with_calls)])
    assert list(cleaned.days) == list(prepared.days)
    manifest = await place.site.manifest()
    assert manifest is not None
    assert (manifest.copy, list(manifest.days)) == (prepared.copy, with_calls)
    kept = place.files()
    assert all(kept[path] == content for path, content in files.items() if path.startswith("copies/"))
    assert await place.site.prepared() is None
    # The next one begins anew, beside it.
    assert await prepare_copy(bench.cleaning, place.site, turn) == len(made) - len(with_calls)
    await place.site.forget_others()
    assert len(place.calls()) == 6


@pytest.mark.rule("S9.2", "S9.4")
async def test_a_cleanup_takes_the_log_and_nothing_else(
    bench: UsageBench, place: Place, console: Database, owner: asyncpg.Connection
) -> None:
    market = Market(bench.customers, owner, console)
    buyer = await market.an_account()
    await market.top_up(buyer)
    customer, model = await bench.customers.a_key(buyer.id), await bench.a_model()
    kept_tables = ("top_up", "entry", "hold", "lot", "account_books", "key_books")
    calls = await days_of_calls(bench, customer, model, 3)
    await bench.roll_up()
    before = {table: await owner.fetch(f"select * from {table} order by 1, 2") for table in kept_tables}  # noqa: S608
    await clean_usage_log(bench.cleaning, place.site, max(calls))
    after = {table: await owner.fetch(f"select * from {table} order by 1, 2") for table in kept_tables}  # noqa: S608
    assert after == before
    assert len(after["top_up"]) == 1
    found = await bench.log.consumed(buyer.id)
    assert (found.in_log.calls, found.in_log.charged, found.lifetime) == (2, 800, 2_400)
    assert found.since == max(calls)
    assert await owner.fetchval("select count(*) from usage_day where day < $1", max(calls)) == 0
    assert [each.sum.calls for each in await bench.log.chart(UsageFilter(account_id=buyer.id), days=4)] == [0, 0, 2, 0]
    [gone, *_] = calls[min(calls)]
    assert await SqlReceipts(bench.worker).find(UUID(gone), account_id=None) is None


@pytest.mark.rule("S9.1")
async def test_the_log_is_cleaned_in_turn(bench: UsageBench, place: Place) -> None:
    customer, model = await bench.customers.a_customer(), await bench.a_model()
    turn = Turn(keep_days=2, every_days=3)
    cleaned: list[int] = []
    for calls in range(1, 11):
        await bench.call(customer, model)
        await bench.pass_days(1)
        done = await clean_usage_log_in_turn(bench.cleaning, place.site, turn)
        cleaned.append(sum(day.rows for day in done.days))
        left = (await bench.rows())[0]
        assert left == calls - sum(cleaned)
        assert min(calls, turn.keep_days) <= left < turn.keep_days + turn.every_days
    # The first time there were days before the first call.
    _, *later = [rows for rows in cleaned if rows]
    assert later == [3, 3]


async def test_without_a_log_site_nothing_is_cleaned(bench: UsageBench, caplog: pytest.LogCaptureFixture) -> None:
    customer, model = await bench.customers.a_customer(), await bench.a_model()
    await days_of_calls(bench, customer, model, 3)
    assert (await clean_usage_log_in_turn(bench.cleaning, None, Turn(keep_days=1, every_days=1))).days == ()
    assert (await bench.rows())[0] == 6
    assert "TOLLKEEPER_LOG_SITE" in caplog.text


class Faulty(FolderSite):
    """Takes one file, and then no more; or everything but the manifest."""

    def __init__(self, folder: Path, *, fails: str) -> None:
        super().__init__(folder)
        self.fails = fails
        self._taken = 0

    async def put(self, copy: str, name: str, file: Path) -> None:
        self._taken += 1
        if self.fails == "put" and self._taken > 1:
            raise LogSiteFailed("The disk is full.")
        await super().put(copy, name, file)

    async def publish(self, manifest: Manifest) -> None:
        if self.fails == "publish":
            raise LogSiteFailed("The disk is full.")
        await super().publish(manifest)


@pytest.mark.parametrize("fails", ["put", "publish"])
async def test_nothing_is_dropped_before_the_copy_is_whole(bench: UsageBench, tmp_path: Path, fails: str) -> None:
    customer, model = await bench.customers.a_customer(), await bench.a_model()
    made = await days_of_calls(bench, customer, model, 4)
    first, second, third, fourth = made
    site = FolderSite(tmp_path / "site")
    await clean_usage_log(bench.cleaning, site, second)
    faulty = Faulty(tmp_path / "site", fails=fails)
    with pytest.raises(LogSiteFailed):
        await clean_usage_log(bench.cleaning, faulty, fourth)
    assert (await bench.rows())[0] == 6
    before = await site.manifest()
    assert before is not None
    assert [each.day for each in before.days] == [first], "the copy before still counts"
    cleaned = await clean_usage_log(bench.cleaning, site, fourth)
    assert [each.day for each in cleaned.days if each.rows] == [second, third]
    assert sorted(file.name for file in (tmp_path / "site").rglob("*.gz")) == [file_of(second), file_of(third)]


async def test_a_cleanup_that_was_cut_short_is_finished_from_its_own_copy(
    bench: UsageBench, place: Place, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "SECONDS_BETWEEN_TRIES", 0)
    customer, model = await bench.customers.a_customer(), await bench.a_model()
    made = await days_of_calls(bench, customer, model, 4)
    first, second, third, fourth = made
    reader = await asyncpg.connect(settings.database_url, server_settings={"search_path": "tollkeeper"})
    try:
        async with reader.transaction():
            await reader.fetch("select from usage")
            stopped = await clean_usage_log(bench.cleaning, place.site, third)
    finally:
        await reader.close()
    assert (stopped.days, [day for day in stopped.left if day in made]) == ([], [first, second])
    assert (await bench.rows())[0] == 8
    copied = place.files()
    # Even where more could be cleaned by now: that would overwrite the copy of days that may be gone.
    finished = await clean_usage_log(bench.cleaning, place.site, fourth)
    assert [each.day for each in finished.days] == [first, second]
    assert place.files() == copied
    assert (await bench.rows())[0] == 4


async def test_a_day_with_other_rows_than_were_copied_is_not_dropped(bench: UsageBench) -> None:
    customer, model = await bench.customers.a_customer(), await bench.a_model()
    [day] = await days_of_calls(bench, customer, model, 1)
    async with bench.cleaning.alone() as cleaner:
        assert cleaner is not None
        with pytest.raises(DayChanged, match=r"1 rows of .* were copied, and there are 2"):
            await cleaner.drop_day(day, rows=1, copy="a copy")
    assert (await bench.rows())[0] == 2


async def test_a_call_that_came_late_is_copied_too(
    bench: UsageBench, place: Place, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "SECONDS_BETWEEN_TRIES", 0)
    customer, model = await bench.customers.a_customer(), await bench.a_model()
    first, second, third = await days_of_calls(bench, customer, model, 3)
    while await prepare_copy(bench.cleaning, place.site, Turn(keep_days=1, every_days=10)):
        pass
    after_preparing = await late_calls(bench, customer, model, first)
    reader = await asyncpg.connect(settings.database_url, server_settings={"search_path": "tollkeeper"})
    try:
        async with reader.transaction():
            await reader.fetch(f"select from usage_{second:%Y%m%d}")
            stopped = await clean_usage_log(bench.cleaning, place.site, third)
    finally:
        await reader.close()
    assert list(stopped.left) == [second]
    after_copying = await late_calls(bench, customer, model, second)
    finished = await clean_usage_log(bench.cleaning, place.site, third)
    assert [(each.day, each.rows) for each in finished.days] == [(second, 4)]
    copied = place.calls()
    assert sorted(copied[file_of(first)]) == after_preparing
    assert sorted(copied[file_of(second)]) == after_copying
    assert await is_whole(place)
    assert (await bench.rows())[0] == 2


async def test_what_comes_of_a_day_that_is_gone_goes_with_the_next_copy(bench: UsageBench, place: Place) -> None:
    customer, model = await bench.customers.a_customer(), await bench.a_model()
    made = await days_of_calls(bench, customer, model, 4)
    first, _, third, fourth = made
    await clean_usage_log(bench.cleaning, place.site, third)
    copied = place.files()
    # As many as there were: their number alone does not tell that they are others.
    late = await late_calls(bench, customer, model, first)
    # They are no reason to overwrite the copy before its time.
    turn = Turn(keep_days=1, every_days=10)
    assert (await clean_usage_log_in_turn(bench.cleaning, place.site, turn)).days == ()
    assert place.files() == copied
    await clean_usage_log(bench.cleaning, place.site, fourth)
    assert {file: sorted(calls) for file, calls in place.calls().items()} == {
        file_of(first): late,
        file_of(third): sorted(made[third]),
    }
    assert await is_whole(place)
    assert (await bench.rows())[0] == 2


async def test_what_was_prepared_and_is_not_there_any_more_is_copied_anew(bench: UsageBench, place: Place) -> None:
    customer, model = await bench.customers.a_customer(), await bench.a_model()
    made = await days_of_calls(bench, customer, model, 4)
    first, second, third, fourth = made
    while await prepare_copy(bench.cleaning, place.site, Turn(keep_days=1, every_days=10)):
        pass
    prepared = await place.site.prepared()
    assert prepared is not None
    sizes = {each.day: each.size_bytes for each in prepared.days}
    assert await place.site.has(prepared.copy, file_of(first), sizes[first])
    place.lose(f"copies/{prepared.copy}/{file_of(first)}")
    place.shorten(f"copies/{prepared.copy}/{file_of(second)}")
    assert not await place.site.has(prepared.copy, file_of(first), sizes[first])
    assert not await place.site.has(prepared.copy, file_of(second), sizes[second])
    await clean_usage_log(bench.cleaning, place.site, fourth)
    assert await is_whole(place)
    copied = place.calls()
    assert all(sorted(copied[file_of(day)]) == sorted(made[day]) for day in (first, second, third))


async def test_a_day_with_a_call_that_still_runs_is_not_cleaned(bench: UsageBench, place: Place) -> None:
    customer, model = await bench.customers.a_customer(), await bench.a_model()
    await days_of_calls(bench, customer, model, 1)
    running = await bench.begin(customer, model)
    await bench.pass_days(3)
    cleaned = await clean_usage_log(bench.cleaning, place.site, await bench.today())
    assert sum(each.rows for each in cleaned.days) == 2
    await bench.end(running)
    cleaned = await clean_usage_log(bench.cleaning, place.site, await bench.today() - timedelta(days=1))
    assert sum(each.rows for each in cleaned.days) == 1


async def test_one_cleaner_works_at_a_time(bench: UsageBench, place: Place) -> None:
    customer, model = await bench.customers.a_customer(), await bench.a_model()
    made = await days_of_calls(bench, customer, model, 2)
    async with bench.cleaning.alone():
        assert (await clean_usage_log(bench.cleaning, place.site, max(made))).days == ()
    done = await asyncio.gather(*(clean_usage_log(bench.cleaning, place.site, max(made)) for _ in range(2)))
    assert sorted(sum(day.rows for day in cleaned.days) for cleaned in done) == [0, 2]
    assert list(place.calls()) == [file_of(min(made))]


async def test_days_without_calls_leave_the_copy_before_as_it_is(bench: UsageBench, place: Place) -> None:
    customer, model = await bench.customers.a_customer(), await bench.a_model()
    await days_of_calls(bench, customer, model, 1)
    await bench.pass_days(3)
    await clean_usage_log(bench.cleaning, place.site, await bench.today() - timedelta(days=3))
    copied = place.files()
    assert copied
    cleaned = await clean_usage_log(bench.cleaning, place.site, await bench.today())
    assert cleaned.days
    assert place.files() == copied
