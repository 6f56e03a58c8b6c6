"""Announcements at the office: added for a time, listed, ended."""

import asyncpg
import pytest

from tests.office.staff import StaffClient, refused, told

TEXTS = {"english": "Maintenance", "chinese": "维护"}


async def test_an_announcement_is_shown_until_it_is_ended(owner_client: StaffClient, owner: asyncpg.Connection) -> None:
    made = told(await owner_client.post("/announcements", **TEXTS, ends_at="2999-12-31T00:00:00Z"))
    assert told(await owner_client.get("/announcements"))["data"] == [made]
    path = f"/announcements/{made['id']}/end"
    assert told(await owner_client.post(path, reason="over")) == {"changed": True}
    assert told(await owner_client.post(path, reason="over")) == {"changed": False}
    assert told(await owner_client.get("/announcements"))["data"] == []
    [over] = told(await owner_client.get("/announcements", over=True))["data"]
    assert (over["id"], over["ended_at"] is None) == (made["id"], False)
    assert refused(await owner_client.post("/announcements/77/end", reason="over")) == (404, "not_found")
    acts = await owner.fetch("select action from audit where subject ~ '^announcement' order by id")
    assert [row["action"] for row in acts] == ["announcement.add", "announcement.remove"]


async def test_announcements_come_in_pages_the_soonest_first(owner_client: StaffClient) -> None:
    for year in (2032, 2030, 2031):
        times = {"starts_at": f"{year}-01-01T00:00:00Z", "ends_at": "2040-01-01T00:00:00Z"}
        told(await owner_client.post("/announcements", **TEXTS, **times))
    first = told(await owner_client.get("/announcements", limit=2))
    second = told(await owner_client.get("/announcements", limit=2, after=first["next"]))
    years = [each["starts_at"][:4] for page in (first, second) for each in page["data"]]
    assert (years, second["next"]) == (["2030", "2031", "2032"], None)


@pytest.mark.parametrize(
    "wish",
    [
        {"ends_at": "2001-01-01T00:00:00Z"},
        {"ends_at": "9999-12-31T23:59:59-14:00"},
        {"ends_at": "2998-01-01T00:00:00Z", "english": " "},
        {"ends_at": "2998-01-01T00:00:00Z", "english": "a\u202eb"},
        {"ends_at": "2998-01-01T00:00:00Z", "chinese": "x" * 501},
        {"ends_at": "2998-01-01T00:00:00Z", "starts_at": "2999-01-01T00:00:00Z"},
    ],
    ids=str,
)
async def test_what_cannot_be_announced_is_refused(owner_client: StaffClient, wish: dict[str, str]) -> None:
    assert refused(await owner_client.post("/announcements", **{**TEXTS, **wish})) == (422, "refused")


async def test_a_time_without_a_zone_is_not_guessed_at(owner_client: StaffClient) -> None:
    assert refused(await owner_client.post("/announcements", **TEXTS, ends_at="2998-01-01T00:00:00")) == (
        400,
        "bad_request",
    )
