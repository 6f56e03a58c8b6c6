"""Pages of staff: for staff alone, each for those who have its scope."""

import re

import asyncpg
import pytest
from starlette.applications import Starlette

from tests.console.browser import Browser
from tests.people import People
from tollkeeper.console.pages import Page
from tollkeeper.console.staff.places import STAFF_PLACES
from tollkeeper.console.staff.table import STAFF
from tollkeeper.core.people.logins import Role
from tollkeeper.core.people.operator_keys import ROLE_SCOPES, may
from tollkeeper.settings import Settings

SESSION = "__Host-tollkeeper"

every = pytest.mark.parametrize("page", STAFF, ids=lambda page: f"{page.method} {page.path}")


def path_of(page: Page) -> str:
    return re.sub(r"\{\w+(:\w+)?\}", "1", page.path)


async def staff_browser(application: Starlette, people: People, role: Role) -> Browser:
    """Signed in with a second factor."""
    browser = Browser(application)
    enrolled = await people.enrol(await people.a_person(role=role))
    browser.cookies[SESSION] = enrolled.token
    return browser


@every
async def test_strangers_sign_in_and_for_customers_there_is_no_such_page(
    application: Starlette, people: People, browser: Browser, page: Page
) -> None:
    answer = await browser.send(page.method, path_of(page), headers={"origin": "https://console.example"})
    assert (answer.status, answer.goes_to.partition("?")[0]) == (303, "/sign-in")
    customer = await staff_browser(application, people, Role.CUSTOMER)
    assert (await customer.send(page.method, path_of(page))).status == 404


@pytest.mark.parametrize("role", [Role.SUPPORT, Role.OPERATOR])
async def test_every_role_has_the_pages_of_its_scopes_and_no_others(
    application: Starlette, people: People, role: Role
) -> None:
    visitor = await staff_browser(application, people, role)
    for page in STAFF:
        answer = await visitor.send(page.method, path_of(page))
        is_theirs = may(ROLE_SCOPES[role], page.scope)
        # A form without a token is refused as well, in words of its own.
        refused = answer.status == 403 and "This is not for your account" in answer.text
        assert refused is not is_theirs, (page.path, answer.status)


async def test_staff_without_a_second_factor_are_sent_to_set_one_up(
    application: Starlette, people: People, browser: Browser
) -> None:
    person = await people.a_person(role=Role.OPERATOR)
    await browser.get("/sign-in")
    await browser.post("/sign-in", email=person.email, password=person.password)
    assert (await browser.get("/staff")).goes_to == "/security/second-factor"


def test_every_place_of_the_side_bar_has_a_page() -> None:
    assert {place.path for place in STAFF_PLACES} <= {page.path for page in STAFF if page.method == "GET"}


async def test_the_overview_says_that_nothing_happened_yet(application: Starlette, people: People) -> None:
    page = await (await staff_browser(application, people, Role.SUPPORT)).get("/staff")
    assert page.status == 200
    assert "Revenue by hour, with cost" in page.text


async def test_the_audit_page_shows_acts_and_a_break_in_the_chain(
    application: Starlette, people: People, town_settings: Settings
) -> None:
    visitor = await staff_browser(application, people, Role.SUPPORT)
    page = await visitor.get("/staff/audit?action=login.")
    assert "login." in page.text
    assert "The chain is whole" in (await visitor.get("/staff/audit?chain=1")).text
    connection = await asyncpg.connect(town_settings.database_url, server_settings={"search_path": "tollkeeper"})
    try:
        row, actor = await connection.fetchrow("select id, actor from audit order by id limit 1")
        await connection.execute("update audit set actor = 'another' where id = $1", row)
        assert f"broken at row {row}" in (await visitor.get("/staff/audit?chain=1")).text
        await connection.execute("update audit set actor = $2 where id = $1", row, actor)
    finally:
        await connection.close()
    assert (await visitor.get("/staff/audit?after=x")).status == 422
