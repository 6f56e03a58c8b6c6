"""Codes and announcements at staff's pages: codes are the answer to one form, and are nowhere else."""

import re
from base64 import b64decode
from uuid import uuid4

import asyncpg
import pytest
from starlette.applications import Starlette

from tests.console.browser import Browser
from tests.console.test_staff_pages import staff_browser
from tests.people import People
from tollkeeper.core.people.logins import Role

BATCH = {"usd": "10", "codes": "2", "months": "12", "rewards": "true", "reason": "a fair"}


@pytest.fixture
async def operator(application: Starlette, people: People) -> Browser:
    return await staff_browser(application, people, Role.OPERATOR)


async def made(operator: Browser, **more: str) -> str:
    form = (await operator.get("/staff/codes/new")).hidden()["form_id"]
    answer = await operator.post("/staff/codes/new", form_id=form, **(BATCH | more))
    assert answer.status == 303, answer.text
    return answer.goes_to.partition("?")[0]


async def test_a_batch_is_made_once_and_exported_once_and_its_codes_are_kept_nowhere(
    operator: Browser, town_owner: asyncpg.Connection
) -> None:
    note = uuid4().hex
    sent = (await operator.get("/staff/codes/new")).hidden() | {"note": note} | BATCH
    answers = [await operator.post("/staff/codes/new", **sent) for _ in range(2)]
    assert [answer.status for answer in answers] == [303, 303]
    assert "sent-before" in answers[1].goes_to
    assert await town_owner.fetchval("select count(*) from redemption_batch where note = $1", note) == 1
    batch = answers[0].goes_to.partition("?")[0]
    await operator.get(batch)
    page = await operator.post(f"{batch}/export", reason="handed out")
    assert page.status == 200
    assert page.header("cache-control") == "no-store"
    text = re.search(r"<textarea[^>]*>([^<]*)</textarea>", page.text)
    file = re.search(r"data:text/plain;base64,([^\"]+)", page.text)
    assert text is not None
    assert file is not None
    codes = text[1].split()
    assert len(set(codes)) == 2
    assert b64decode(file[1]).decode().split() == codes
    later = await operator.get(batch)
    again = await operator.post(f"{batch}/export", reason="handed out")
    assert (again.status, "shown before" in again.text) == (422, True)
    kept = await town_owner.fetchval("select string_agg(detail::text, '') from audit")
    for code in codes:
        assert not any(code in shown for shown in (later.text, again.text, kept))


async def test_what_is_left_of_a_batch_is_revoked_with_a_reason(operator: Browser) -> None:
    batch = await made(operator, note="spring", valid_days="30")
    page = await operator.get(batch)
    assert "not exported yet" in page.text
    assert (await operator.post(f"{batch}/revoke", reason="")).status == 422
    await operator.post(f"{batch}/revoke", reason="stolen")
    page = await operator.follow()
    assert "Revoked" in page.text
    assert "stolen" in page.text
    assert "spring" in (await operator.get("/staff/codes")).text


@pytest.mark.parametrize("wrong", [{"usd": "ten"}, {"usd": "-1"}, {"codes": "0"}, {"codes": "many"}, {"months": "0"}])
async def test_a_batch_that_is_none_is_refused_on_the_form(operator: Browser, wrong: dict[str, str]) -> None:
    form = (await operator.get("/staff/codes/new")).hidden()["form_id"]
    answer = await operator.post("/staff/codes/new", form_id=form, **(BATCH | wrong))
    assert (answer.status, "alert-danger" in answer.text or "is-invalid" in answer.text) == (422, True)


async def test_an_announcement_is_made_shown_and_ended(operator: Browser) -> None:
    words = f"Maintenance {uuid4().hex[:8]}"
    await operator.get("/staff/announcements")
    await operator.post("/staff/announcements", english=words, chinese="维护", ends_at="2900-01-01T00:00")
    page = await operator.follow()
    assert words in page.text
    number = re.search(rf"{words}.*?/staff/announcements/(\d+)/end", page.text, re.DOTALL)
    assert number is not None
    await operator.post(f"/staff/announcements/{number[1]}/end", reason="over")
    assert words not in (await operator.follow()).text


async def test_an_announcement_that_is_over_is_refused_with_what_was_typed(operator: Browser) -> None:
    await operator.get("/staff/announcements")
    answer = await operator.post("/staff/announcements", english="Too late", chinese="太晚", ends_at="2001-06-01T00:00")
    assert (answer.status, "is over already" in answer.text) == (422, True)
    assert 'value="Too late"' in answer.text
