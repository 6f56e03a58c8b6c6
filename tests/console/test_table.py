"""What holds for every page of the table, made from the table itself."""

import re

import msgspec
import pytest
from starlette.applications import Starlette

from tests.console.browser import ORIGIN, Browser
from tests.console.conftest import enter
from tests.people import People
from tollkeeper.console.application import console
from tollkeeper.console.desks import Desks, Site
from tollkeeper.console.guard import HEADERS
from tollkeeper.console.pages import Page, Who
from tollkeeper.console.table import PAGES

NOT_FOR_STRANGERS = (Who.SIGNED_IN, Who.SETTING_UP)
INLINE = re.compile(r"<style|<script(?![^>]* src=)|\sstyle=|\son[a-z]+=|javascript:", re.IGNORECASE)


def named(page: Page) -> str:
    return f"{page.method} {page.path}"


def path_of(page: Page) -> str:
    """With something for each of its parameters."""
    return re.sub(r"\{\w+(:\w+)?\}", "1", page.path)


every = pytest.mark.parametrize("page", PAGES, ids=named)
posts = pytest.mark.parametrize("page", [page for page in PAGES if page.method == "POST"], ids=named)


@pytest.fixture(scope="module")
async def member(application: Starlette, people: People) -> Browser:
    """Somebody's who has signed in. No test here gets a form through."""
    found = Browser(application)
    await enter(found, await people.a_person())
    return found


async def visited(browser: Browser, page: Page) -> str:
    """The token of a page that the browser has open, with the right token in the form."""
    await browser.get("/sign-in")
    if browser.page.goes_to:
        await browser.get("/")
    return path_of(page)


def test_a_page_stands_in_the_table_once() -> None:
    assert len({named(page) for page in PAGES}) == len(PAGES)
    assert {page.method for page in PAGES} == {"GET", "POST"}


@every
async def test_a_stranger_is_sent_to_sign_in(browser: Browser, page: Page) -> None:
    path = await visited(browser, page)
    answer = await (browser.get(path) if page.method == "GET" else browser.post(path))
    if page.who in NOT_FOR_STRANGERS:
        assert (answer.status, answer.goes_to.partition("?")[0]) == (303, "/sign-in")
    else:
        assert answer.goes_to.partition("?")[0] != "/sign-in" or page.path.startswith("/sign-in")


@every
async def test_every_answer_has_the_headers(browser: Browser, member: Browser, page: Page) -> None:
    for visitor in (browser, member):
        answer = await visitor.send(page.method, path_of(page))
        told = dict(answer.headers)
        assert HEADERS.items() <= {name: told.get(name.lower()) for name in HEADERS}.items()
        assert told["content-security-policy"].startswith("default-src 'none'; script-src 'self'; style-src 'self'; ")
        assert told["content-security-policy"].endswith("; require-trusted-types-for 'script'; trusted-types 'none'")
        assert told["strict-transport-security"]
        assert told["cache-control"] == "no-store"
        assert told["referrer-policy"] == ("no-referrer" if page.no_referrer else "same-origin")


@every
async def test_no_page_has_script_or_style_of_its_own(browser: Browser, member: Browser, page: Page) -> None:
    for visitor in (browser, member):
        answer = await visitor.send(page.method, path_of(page))
        assert not INLINE.search(answer.text)


@posts
async def test_a_form_without_the_visitors_token_is_refused(
    application: Starlette, browser: Browser, member: Browser, page: Page
) -> None:
    visitor = member if page.who in NOT_FOR_STRANGERS else browser
    path = await visited(visitor, page)
    elses = Browser(application)
    token = (await elses.get("/sign-in")).hidden()["form_token"]
    assert (await visitor.post(path, form_token=token)).status == 403
    assert (await visitor.post(path, form_token="")).status == 403


@posts
@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": ORIGIN, "sec-fetch-site": "cross-site"},
        {"origin": ORIGIN, "sec-fetch-site": "same-site"},
        {},
    ],
    ids=["another origin", "no origin to tell", "another site", "a neighbour", "nothing"],
)
async def test_a_form_of_another_page_is_refused(
    browser: Browser, member: Browser, page: Page, headers: dict[str, str]
) -> None:
    visitor = member if page.who in NOT_FOR_STRANGERS else browser
    path = await visited(visitor, page)
    token = visitor.page.hidden()["form_token"]
    answer = await visitor.send("POST", path, body=f"form_token={token}".encode(), headers=headers)
    assert answer.status == 403


@every
async def test_a_page_is_had_by_its_own_method_alone(browser: Browser, page: Page) -> None:
    methods = {other.method for other in PAGES if other.path == page.path}
    for method in {"GET", "POST", "PUT", "DELETE"} - methods:
        answer = await browser.send(method, path_of(page))
        assert (answer.status, "error" in answer.text or bool(answer.text)) == (405, True)


@posts
async def test_a_form_that_is_too_large_is_not_read(browser: Browser, member: Browser, page: Page) -> None:
    visitor = member if page.who in NOT_FOR_STRANGERS else browser
    path = await visited(visitor, page)
    answer = await visitor.post(path, much="x" * page.body_bytes_most)
    assert answer.status == 413


async def test_cookies_are_for_this_host_alone_and_for_no_script(browser: Browser, member: Browser) -> None:
    assert list(member.cookies) == ["__Host-tollkeeper"]
    answer = await browser.get("/sign-in")
    assert [line.partition("=")[0] for line in answer.cookies] == ["__Host-tollkeeper-stranger"]
    for line in answer.cookies:
        told = {part.strip().lower() for part in line.split(";")[1:]}
        assert {"httponly", "path=/", "samesite=lax", "secure"} <= told


async def test_over_plain_http_cookies_have_another_name_and_the_page_says_so(desks: Desks, site: Site) -> None:
    plain = msgspec.structs.replace(site, console_url="http://console.example")
    browser = Browser(console(desks, plain), origin="http://console.example")
    answer = await browser.get("/sign-in")
    assert list(browser.cookies) == ["tollkeeper-stranger-unsafe"]
    assert "plain HTTP" in answer.text
    assert "secure" not in answer.cookies[0].lower()
    assert answer.header("strict-transport-security") == ""


async def test_a_path_that_is_no_page_is_told_in_words(browser: Browser) -> None:
    answer = await browser.get("/no-such-page")
    assert (answer.status, "There is no such page" in answer.text) == (404, True)
    assert answer.header("content-security-policy")


@pytest.mark.parametrize("name", ["console.css", "nothing.js", "../table.py", "LICENCES.md"])
async def test_nothing_but_assets_is_served_as_one(browser: Browser, name: str) -> None:
    assert (await browser.get(f"/assets/{name}")).status == 404


async def test_assets_are_kept_for_ever_under_names_of_their_content(browser: Browser) -> None:
    page = await browser.get("/sign-in")
    found = set(re.findall(r'(?:href|src)="(/assets/[^"#]+)', page.text))
    assert len(found) >= 6
    for path in found:
        answer = await browser.get(path, accept_encoding="gzip")
        assert (answer.status, "immutable" in answer.header("cache-control")) == (200, True)
        assert answer.header("x-content-type-options") == "nosniff"
