"""Forms that another page sends with a visitor's cookie, and sessions that somebody planted: for every form of the
console. (`prove-console` tries them in a browser.)"""

import secrets

import asyncpg
import pytest

from tests.attacks.operator_calls import Headers
from tests.attacks.page_visits import COOKIE, PageVisitor, a_visitor, address
from tests.office.serving import Served
from tollkeeper.console.pages import Who
from tollkeeper.console.staff.table import STAFF
from tollkeeper.console.table import PAGES
from tollkeeper.core.people.logins import Role, mint_token

FORMS = [page for page in (*PAGES, *STAFF) if page.method == "POST"]
FOR_VISITORS = [page for page in FORMS if page.who is not Who.STRANGER]
REFUSED = (400, 403)
EVIL = "https://evil.example"
FOREIGN: dict[str, Headers] = {
    "another site": [("Origin", EVIL), ("Sec-Fetch-Site", "cross-site")],
    "a neighbour": [("Origin", "https://blog.console.example"), ("Sec-Fetch-Site", "same-site")],
    "a link": [("Sec-Fetch-Site", "none")],
    "an old browser": [("Origin", EVIL)],
    "nothing said": [],
    "a referrer alone": [("Referer", "http://localhost/")],
}


@pytest.mark.parametrize("origin", FOREIGN)
async def test_a_form_of_another_page_is_refused_whatever_it_knows(
    served: Served, books: asyncpg.Connection, origin: str
) -> None:
    visitor = await a_visitor(served, books, Role.OPERATOR)
    token = visitor.token()
    statuses = {
        page.path: visitor.post(address(page, {}), {"form_token": token}, FOREIGN[origin]).status
        for page in FOR_VISITORS
    }
    assert {path: status for path, status in statuses.items() if status not in REFUSED} == {}


@pytest.mark.parametrize("form", ["no token", "another's", "of chance", "in the address", "twice"])
async def test_a_form_without_the_visitors_own_token_is_refused(
    served: Served, books: asyncpg.Connection, form: str
) -> None:
    visitor, other = await a_visitor(served, books, Role.OPERATOR), await a_visitor(served, books)
    theirs, own = other.token(), visitor.token()
    fields, query = {
        "no token": ({}, ""),
        "another's": ({"form_token": theirs}, ""),
        "of chance": ({"form_token": secrets.token_hex(32)}, ""),
        "in the address": ({}, f"?form_token={own}"),
        "twice": ({"form_token": f"{theirs},{own}"}, ""),
    }[form]
    statuses = {page.path: visitor.post(address(page, {}) + query, fields).status for page in FOR_VISITORS}
    assert {path: status for path, status in statuses.items() if status not in REFUSED} == {}


def test_a_session_that_was_made_up_is_nobodys(served: Served) -> None:
    planted = PageVisitor(served, session=mint_token(secrets.choice))
    for page in (*PAGES, *STAFF):
        if page.method == "GET" and page.who in (Who.SIGNED_IN, Who.STAFF):
            answer = planted.get(address(page, {}))
            assert (answer.status, answer.headers["location"].partition("?")[0]) == (303, "/sign-in"), page.path


async def test_a_session_that_was_ended_is_nobodys(served: Served, books: asyncpg.Connection) -> None:
    visitor = await a_visitor(served, books, Role.OPERATOR)
    assert visitor.get("/staff").status == 200
    await books.execute("update session set revoked_at = ledger_now() where id = $1", visitor.session_id)
    assert visitor.get("/staff").status == 303


def test_a_stranger_is_given_no_session_and_keeps_none_that_was_planted(served: Served) -> None:
    planted = PageVisitor(served, session=mint_token(secrets.choice))
    assert f"{COOKIE}={planted.session}" not in planted.get("/sign-in").headers.get("set-cookie", "")


async def test_what_changes_something_is_not_done_by_an_address(served: Served, books: asyncpg.Connection) -> None:
    visitor = await a_visitor(served, books, Role.OPERATOR)
    shown = {page.path for page in (*PAGES, *STAFF) if page.method == "GET"}
    for page in FORMS:
        if page.path not in shown and "{" not in page.path:
            assert visitor.get(page.path).status in (404, 405), page.path
