"""Announcements: shown while they hold, in the visitor's language, and never as markup."""

from datetime import timedelta

import asyncpg
import pytest

from tests.console.browser import Browser
from tests.customers import ACTOR, Customers
from tollkeeper.accounts.announcements import BadAnnouncement, announce
from tollkeeper.core.one_line import NotOneLine
from tollkeeper.ports import NotOnFile
from tollkeeper.ports.announcements import AnnouncementDesk, NewAnnouncement


@pytest.fixture
def desk(townsfolk: Customers) -> AnnouncementDesk:
    return townsfolk.desk.announcements


async def wanted(
    owner: asyncpg.Connection, english: str, *, since: timedelta | None = None, lasts: timedelta = timedelta(hours=1)
) -> NewAnnouncement:
    now = await owner.fetchval("select ledger_now()")
    starts_at = None if since is None else now + since
    return NewAnnouncement(english=english, chinese=f"公告 {english}", starts_at=starts_at, ends_at=now + lasts)


async def test_an_announcement_is_shown_at_home_and_where_one_signs_in_until_it_is_removed(
    signed_in: Browser, browser: Browser, desk: AnnouncementDesk, town_owner: asyncpg.Connection
) -> None:
    made = await announce(await wanted(town_owner, "Maintenance on Sunday"), desk, actor=ACTOR)
    later = await announce(await wanted(town_owner, "Not yet", since=timedelta(minutes=30)), desk, actor=ACTOR)
    for visitor, path in ((signed_in, "/"), (browser, "/sign-in")):
        page = await visitor.get(path)
        assert "Maintenance on Sunday" in page.text
        assert "Not yet" not in page.text
        chinese = await visitor.get(f"{path}?lang=zh")
        assert ">公告 Maintenance on Sunday<" in chinese.text
    assert [each.id for each in await desk.listed()] == [made.id, later.id]
    assert await desk.remove(made.id, actor=ACTOR)
    assert not await desk.remove(made.id, actor=ACTOR)
    assert "Maintenance" not in (await signed_in.get("/?lang=en")).text
    await desk.remove(later.id, actor=ACTOR)
    with pytest.raises(NotOnFile):
        await desk.remove(2**40, actor=ACTOR)
    rows = await town_owner.fetch("select action from audit where subject = $1 order by id", f"announcement:{made.id}")
    assert [row["action"] for row in rows] == ["announcement.add", "announcement.remove"]


async def test_it_is_text_and_never_markup(
    signed_in: Browser, desk: AnnouncementDesk, town_owner: asyncpg.Connection
) -> None:
    text = "<script>alert(1)</script><img src=x onerror=alert(1)> {{ 7 * 7 }}"
    made = await announce(await wanted(town_owner, text), desk, actor=ACTOR)
    page = await signed_in.get("/")
    await desk.remove(made.id, actor=ACTOR)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt; {{ 7 * 7 }}" in page.text
    assert "<script>alert" not in page.text


@pytest.mark.parametrize("text", ["", "  ", "x" * 501])
async def test_a_text_has_a_length(desk: AnnouncementDesk, town_owner: asyncpg.Connection, text: str) -> None:
    with pytest.raises(BadAnnouncement):
        await announce(await wanted(town_owner, text), desk, actor=ACTOR)


async def test_a_text_is_one_line_and_ends_after_it_begins(
    desk: AnnouncementDesk, town_owner: asyncpg.Connection
) -> None:
    with pytest.raises(NotOneLine):
        await announce(await wanted(town_owner, "two\nlines"), desk, actor=ACTOR)
    for late in (
        await wanted(town_owner, "over", lasts=timedelta(0)),
        await wanted(town_owner, "backwards", since=timedelta(hours=2)),
    ):
        with pytest.raises(BadAnnouncement):
            await announce(late, desk, actor=ACTOR)


async def test_a_few_are_shown_at_once_the_newest_first(desk: AnnouncementDesk, town_owner: asyncpg.Connection) -> None:
    made = [await announce(await wanted(town_owner, f"number {n}"), desk, actor=ACTOR) for n in range(5)]
    assert [each.english for each in await desk.current()] == ["number 4", "number 3", "number 2"]
    for each in made:
        await desk.remove(each.id, actor=ACTOR)
