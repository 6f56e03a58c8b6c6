"""Cleaned logs: whoever is signed in sees their own calls of the last copy, and nobody else's."""

import csv
import io
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from uuid import UUID

import asyncpg
import msgspec
import pytest

from tests.console.browser import Browser
from tests.console.calls import CallMade, a_call, in_words
from tests.console.conftest import enter
from tests.customers import Customer, Customers
from tests.people import Person
from tollkeeper.app.database import opened
from tollkeeper.console.application import console
from tollkeeper.console.desks import Desks, Site
from tollkeeper.console.key_names import key_name
from tollkeeper.console.logs import SHOWN_AT_ONCE
from tollkeeper.core.usage.log_copy import Manifest, copy_name
from tollkeeper.jobs.clean_usage_log import _copy_day
from tollkeeper.log_site.folder import FolderSite
from tollkeeper.settings import Settings
from tollkeeper.storage.postgres.database import DatabaseRole
from tollkeeper.storage.usage import cleaning
from tollkeeper.storage.usage.cleaning import SqlCleanUsage

ROW = re.compile(r'<tr id="([0-9a-f-]{36})">')


class LogRoom(msgspec.Struct, frozen=True):
    """A log site of the test's own, and the console that reads it."""

    browser: Browser
    folder: Path
    settings: Settings

    async def copy(self, *days: date) -> None:
        """As a cleanup does, but for the dropping: other tests need the rows."""
        site, made_at = FolderSite(self.folder), datetime.now(UTC)
        async with (
            opened(self.settings, DatabaseRole.WORKER) as database,
            SqlCleanUsage(database).alone() as cleaner,
        ):
            assert cleaner is not None
            copied = [await _copy_day(cleaner, site, copy_name(made_at), day) for day in sorted(days)]
        await site.publish(Manifest(copy=copy_name(made_at), made_at=made_at, days=copied))

    async def rows(self, path: str = "/logs") -> list[UUID]:
        return [UUID(found) for found in ROW.findall((await self.browser.get(path)).text)]


@pytest.fixture
async def room(desks: Desks, site: Site, person: Person, tmp_path: Path, town_settings: Settings) -> LogRoom:
    folder = tmp_path / "log-site"
    browser = Browser(console(msgspec.structs.replace(desks, log_site=FolderSite(folder)), site))
    await enter(browser, person)
    return LogRoom(browser, folder, town_settings)


def today() -> date:
    return datetime.now(UTC).date()


async def calls_of(
    owner: asyncpg.Connection, customer: Customer, model: str, count: int, *, day: int = 0
) -> Sequence[UUID]:
    """Newest first."""
    ago = timedelta(days=day)
    made = [await a_call(owner, customer, CallMade(model=model, ago=ago)) for _ in range(count)]
    return sorted(made, reverse=True)


@pytest.mark.rule("S9.3")
async def test_the_copy_of_the_last_cleanup_is_shown_newest_first_with_what_each_call_cost(
    room: LogRoom, town_owner: asyncpg.Connection, key_holder: Customer, townsfolk: Customers
) -> None:
    model = await townsfolk.a_model()
    old = await calls_of(town_owner, key_holder, model, 2, day=1)
    new = await calls_of(town_owner, key_holder, model, 2)
    await room.copy(today() - timedelta(days=1), today())
    assert await room.rows() == [*new, *old]
    page = in_words(room.browser.page.text)
    assert "$0.000220" in page
    assert "a key" in page
    # The next one overwrites it.
    await room.copy(today())
    assert await room.rows() == [*new]


async def test_a_key_that_we_made_is_named_in_the_visitors_language(
    room: LogRoom, town_owner: asyncpg.Connection, key_holder: Customer, townsfolk: Customers
) -> None:
    await room.browser.get(f"/keys/{key_holder.key_id}")
    await room.browser.post(f"/keys/{key_holder.key_id}", name="Faucet")
    await a_call(town_owner, key_holder, CallMade(model=await townsfolk.a_model()))
    await room.copy(today())
    page = (await room.browser.get("/logs?lang=zh")).text
    assert f'<td class="key">{key_name("Faucet", "zh")}</td>' in page


@pytest.mark.parametrize(
    "sizes",
    [(1, 16), (600, 4), (128 * 1024, 1)],
    ids=["a row a part", "a few rows a part", "one part"],
)
async def test_nobody_sees_the_calls_of_others_wherever_a_part_ends(
    room: LogRoom,
    town_owner: asyncpg.Connection,
    key_holder: Customer,
    townsfolk: Customers,
    monkeypatch: pytest.MonkeyPatch,
    sizes: tuple[int, int],
) -> None:
    part_bytes, parts_least = sizes
    monkeypatch.setattr(cleaning, "PART_BYTES", part_bytes)
    model = await townsfolk.a_model()
    neighbours = [await townsfolk.a_customer() for _ in range(2)]
    for neighbour in neighbours:
        await calls_of(town_owner, neighbour, model, 3)
    own = await calls_of(town_owner, key_holder, model, 7)
    await calls_of(town_owner, await townsfolk.a_customer(), model, 3)
    await room.copy(today())
    manifest = await FolderSite(room.folder).manifest()
    assert manifest is not None
    [parts] = [each.parts or () for each in manifest.days]
    assert len(parts) >= parts_least
    assert await room.rows() == own


async def test_a_long_copy_is_read_page_by_page_and_whole_as_csv(
    room: LogRoom,
    town_owner: asyncpg.Connection,
    key_holder: Customer,
    townsfolk: Customers,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Few rows to a part, so that a page needs several, and more of them than one page may read.
    monkeypatch.setattr(cleaning, "PART_BYTES", 1)
    model = await townsfolk.a_model()
    made = await calls_of(town_owner, key_holder, model, SHOWN_AT_ONCE + 20)
    await room.copy(today())
    found, path = list[UUID](), "/logs"
    for _ in range(5):
        found += await room.rows(path)
        older = re.search(r'rel="next" href="([^"]+)"', room.browser.page.text)
        if older is None:
            break
        path = older.group(1)
    assert found == made
    table = csv.DictReader(io.StringIO((await room.browser.get("/logs.csv")).text))
    assert [UUID(row["request_id"]) for row in table] == made


async def test_before_the_first_cleanup_the_page_says_where_calls_are(room: LogRoom) -> None:
    page = await room.browser.get("/logs")
    assert page.status == 200
    assert "Nothing was cleaned yet" in page.text
    assert (await room.browser.get("/logs.csv")).status == 404


async def test_a_log_site_that_is_away_is_told_and_not_taken_for_empty(
    room: LogRoom, town_owner: asyncpg.Connection, key_holder: Customer, townsfolk: Customers
) -> None:
    await calls_of(town_owner, key_holder, await townsfolk.a_model(), 1)
    await room.copy(today())
    for file in room.folder.rglob("*.gz"):
        file.unlink()
    for path in ("/logs", "/logs.csv"):
        page = await room.browser.get(path)
        assert page.status == 503
        assert "The log site does not answer just now" in page.text


@pytest.mark.parametrize("after", ["ffffffff-ffff-ffff-ffff-ffffffffffff", "00000000-0000-0000-0000-000000000000", "x"])
async def test_any_address_is_read(room: LogRoom, after: str) -> None:
    await room.copy(today())
    assert (await room.browser.get(f"/logs?after={after}")).status == 200


async def test_days_that_an_earlier_version_copied_are_named(
    room: LogRoom, town_owner: asyncpg.Connection, key_holder: Customer, townsfolk: Customers
) -> None:
    await calls_of(town_owner, key_holder, await townsfolk.a_model(), 1)
    await room.copy(today())
    site = FolderSite(room.folder)
    manifest = await site.manifest()
    assert manifest is not None
    days = [msgspec.structs.replace(each, parts=None) for each in manifest.days]
    await site.publish(msgspec.structs.replace(manifest, days=days))
    assert "copied by an earlier version" in (await room.browser.get("/logs")).text
