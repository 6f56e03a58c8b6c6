"""Pages of operator keys and of the team: for operators alone, the key shown once, roles given and taken."""

import re

import asyncpg
import pytest
from starlette.applications import Starlette

from tests.console.browser import Browser
from tests.console.test_staff_pages import staff_browser
from tests.people import People, Person
from tollkeeper.console.staff.places import FOR_OPERATORS, STAFF_PLACES
from tollkeeper.console.staff.table import STAFF
from tollkeeper.core.people.logins import Role
from tollkeeper.core.people.operator_keys import ROLE_SCOPES, may

KEYS = "/staff/operator-keys"


@pytest.fixture
async def operator(application: Starlette, people: People) -> Browser:
    return await staff_browser(application, people, Role.OPERATOR)


async def test_an_operator_key_is_made_shown_once_and_revoked(
    operator: Browser, town_owner: asyncpg.Connection
) -> None:
    await operator.get(f"{KEYS}/new")
    made = await operator.post(f"{KEYS}/new", name="pager", scopes="support", days="7", only_networks="10.0.0.0/8")
    key = re.search(r"op-[0-9A-Za-z]{48}", made.text)
    assert key
    shown = await operator.get(KEYS)
    assert key[0] not in shown.text
    for words in ("pager", "support", "from 10.0.0.0/8", "in use", "never"):
        assert words in shown.text
    networks = await town_owner.fetchval("select only_networks::text from operator_key where name = 'pager'")
    assert networks == "{10.0.0.0/8}"
    await operator.get(f"{KEYS}/pager/revoke")
    assert (await operator.post(f"{KEYS}/pager/revoke", reason=" ")).status == 422
    gone = await operator.post(f"{KEYS}/pager/revoke", reason="its machine is gone")
    assert gone.goes_to == f"{KEYS}?done=operator-key-revoked"
    assert "revoked" in (await operator.follow()).text
    assert "It is revoked." in (await operator.get(f"{KEYS}/pager/revoke")).text
    assert (await operator.get(f"{KEYS}/nobody/revoke")).status == 404


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "Not Plain", "scopes": "read"},
        {"name": "plain"},
        {"name": "plain", "scopes": "read", "days": "0"},
        {"name": "plain", "scopes": "read", "only_networks": "here"},
        {"name": "plain", "scopes": "read", "account": "999999999"},
    ],
    ids=str,
)
async def test_a_key_that_cannot_be_made_stays_on_the_form(operator: Browser, wrong: dict[str, str]) -> None:
    await operator.get(f"{KEYS}/new")
    answer = await operator.post(f"{KEYS}/new", **wrong)
    assert answer.status == 422
    assert f'value="{wrong["name"]}"' in answer.text
    assert not re.search(r"op-[0-9A-Za-z]{48}", answer.text)


async def test_a_role_is_given_and_taken(operator: Browser, person: Person, town_owner: asyncpg.Connection) -> None:
    role = "select role from login where account_id = $1"
    path = f"/staff/team/{person.account_id}/role"
    assert person.email not in (await operator.get("/staff/team")).text
    assert path in (await operator.get(f"/staff/team?email={person.email}")).text
    assert "Nobody has this e-mail" in (await operator.get("/staff/team?email=nobody@people.example")).text
    form = await operator.get(path)
    assert 'value="customer"' not in form.text
    assert (await operator.post(path, role="emperor", reason="a try")).status == 422
    assert (await operator.post(path, role="support", reason="joined us")).goes_to == "/staff/team?done=role-changed"
    assert person.email in (await operator.follow()).text
    assert await town_owner.fetchval(role, person.account_id) == "support"
    await operator.get(path)
    assert (await operator.post(path, role="customer", reason="left us")).status == 303
    assert await town_owner.fetchval(role, person.account_id) == "customer"
    assert (await operator.get("/staff/team/999999999/role")).status == 404


async def test_support_sees_no_place_that_is_refused(application: Starlette, people: People, operator: Browser) -> None:
    support = await staff_browser(application, people, Role.SUPPORT)
    theirs = (await support.get("/staff/bans")).text
    for path in FOR_OPERATORS:
        assert f'href="{path}"' not in theirs
        assert f'href="{path}"' in (await operator.get("/staff/bans")).text
    scopes = {page.path: page.scope for page in STAFF if page.method == "GET"}
    refused = {place.path for place in STAFF_PLACES if not may(ROLE_SCOPES[Role.SUPPORT], scopes[place.path])}
    assert refused == FOR_OPERATORS
