"""Passkeys on the pages: added, shown, used, removed."""

import re
from html import unescape

import msgspec
import pytest
from starlette.applications import Starlette

from tests.console.browser import Answer, Browser
from tests.console.conftest import enter
from tests.passkeys import PRESENT, Ceremony, Device
from tests.people import People, Person
from tollkeeper.console.application import console
from tollkeeper.console.desks import Desks, Site

SESSION = "__Host-tollkeeper"
OPTIONS = re.compile(r'data-options="([^"]*)"')
REMOVE = re.compile(r"/security/passkeys/\d+/remove")


def options(page: Answer) -> str:
    found = OPTIONS.search(page.text)
    assert found is not None
    return unescape(found[1])


async def add(browser: Browser, person: Person, device: Device, how: Ceremony | None = None) -> Answer:
    await browser.get("/security/passkeys/new")
    page = await browser.post("/security/passkeys/new", name="My phone", password=person.password)
    answer = device.make(options(page), how)
    return await browser.post("/security/passkeys/confirm", ticket=page.hidden()["ticket"], answer=answer)


async def sign(browser: Browser, device: Device, how: Ceremony | None = None) -> Answer:
    page = await browser.get("/sign-in?next=/security")
    answer = device.sign(options(page), how)
    ticket = page.hidden()["ticket"]
    return await browser.post("/sign-in/passkey", ticket=ticket, answer=answer, next="/security")


async def test_a_passkey_is_added_signs_in_and_is_removed(
    application: Starlette, signed_in: Browser, person: Person, people: People
) -> None:
    device = Device()
    assert "Add a passkey" in (await signed_in.get("/security")).text
    assert (await add(signed_in, person, device)).goes_to == "/security?done=passkey-added"
    page = await signed_in.follow()
    assert ("My phone" in page.text, "never used" in page.text) == (True, True)

    elsewhere = Browser(application)
    assert (await sign(elsewhere, device)).goes_to == "/security"
    page = await elsewhere.follow()
    assert (page.status, "last used" in page.text, SESSION in elsewhere.cookies) == (200, True, True)

    found = REMOVE.search(page.text)
    assert found is not None
    assert "My phone" in (await elsewhere.get(found[0])).text
    refused = await elsewhere.post(found[0], password="wrong")
    assert (refused.status, 'id="password-error"' in refused.text) == (422, True)
    assert (await elsewhere.post(found[0], password=person.password)).goes_to == "/security?done=passkey-removed"
    assert "My phone" not in (await elsewhere.follow()).text
    assert (await signed_in.get("/security")).goes_to == "/sign-in?next=/security"
    assert (await sign(Browser(application), device)).status == 422


async def test_after_a_passkey_no_code_is_asked_for(
    application: Starlette, people: People, person: Person, browser: Browser
) -> None:
    enrolled = await people.enrol(person)
    browser.cookies[SESSION] = enrolled.token
    page = await browser.get("/security/passkeys/new")
    assert 'id="code"' in page.text
    refused = await browser.post("/security/passkeys/new", name="My phone", password=person.password, code="")
    assert (refused.status, 'id="code-error"' in refused.text) == (422, True)
    code = enrolled.recovery_codes[0]
    page = await browser.post("/security/passkeys/new", name="My phone", password=person.password, code=code)
    device = Device()
    answer = device.make(options(page))
    await browser.post("/security/passkeys/confirm", ticket=page.hidden()["ticket"], answer=answer)
    assert browser.page.goes_to == "/security?done=passkey-added"
    elsewhere = Browser(application)
    assert (await sign(elsewhere, device)).goes_to == "/security"
    assert (await elsewhere.follow()).status == 200


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"name": "", "password": "correct horse battery"}, "name"),
        ({"name": "My phone", "password": "wrong"}, "password"),
    ],
)
async def test_what_is_wrong_is_told_beside_its_field(signed_in: Browser, fields: dict[str, str], field: str) -> None:
    await signed_in.get("/security/passkeys/new")
    answer = await signed_in.post("/security/passkeys/new", **fields)
    assert (answer.status, f'id="{field}-error"' in answer.text) == (422, True)


async def test_what_a_device_did_not_verify_is_neither_added_nor_lets_anybody_in(
    application: Starlette, signed_in: Browser, person: Person
) -> None:
    refused = await add(signed_in, person, Device(), Ceremony(flags=PRESENT))
    assert (refused.status, "Nothing was added" in refused.text) == (422, True)
    device, stranger = Device(), Browser(application)
    await add(signed_in, person, device)
    refused = await sign(stranger, device, Ceremony(flags=PRESENT))
    assert (refused.status, "was not accepted" in refused.text) == (422, True)
    assert SESSION not in stranger.cookies


async def test_a_passkey_that_nobody_knows_is_told_the_same(application: Starlette) -> None:
    stranger = Browser(application)
    refused = await sign(stranger, Device())
    assert (refused.status, "was not accepted" in refused.text) == (422, True)


async def test_an_answer_sent_twice_lets_in_once(application: Starlette, signed_in: Browser, person: Person) -> None:
    device, browser = Device(counts=False), Browser(application)
    await add(signed_in, person, device)
    page = await browser.get("/sign-in")
    sent = {"ticket": page.hidden()["ticket"], "answer": device.sign(options(page))}
    thief = Browser(application)
    thief.cookies, thief.page = dict(browser.cookies), page
    assert (await browser.post("/sign-in/passkey", **sent)).goes_to == "/"
    assert (await thief.post("/sign-in/passkey", **sent)).status == 422
    assert SESSION not in thief.cookies


async def test_a_challenge_is_good_for_nobody_else(application: Starlette, signed_in: Browser, person: Person) -> None:
    device, browser, thief = Device(), Browser(application), Browser(application)
    await add(signed_in, person, device)
    page = await browser.get("/sign-in")
    await thief.get("/sign-in")
    sent = {"ticket": page.hidden()["ticket"], "answer": device.sign(options(page))}
    assert (await thief.post("/sign-in/passkey", **sent)).status == 422
    assert (await browser.post("/sign-in/passkey", **sent)).goes_to == "/"


async def test_no_passkey_is_added_by_a_ticket_for_something_else(signed_in: Browser, person: Person) -> None:
    await signed_in.get("/security/second-factor")
    other = await signed_in.post("/security/second-factor", password=person.password)
    for ticket in ("", "AAAA", other.hidden()["ticket"]):
        answer = await signed_in.post("/security/passkeys/confirm", ticket=ticket, answer="{}")
        assert (answer.status, "Nothing was added" in answer.text) == (422, True)


async def test_anothers_passkey_is_no_page(
    application: Starlette, signed_in: Browser, person: Person, people: People
) -> None:
    await add(signed_in, person, Device())
    found = REMOVE.search((await signed_in.get("/security")).text)
    assert found is not None
    other, somebody = Browser(application), await people.a_person()
    await enter(other, somebody)
    assert (await other.get(found[0])).status == 404
    await other.get("/security")
    assert (await other.post(found[0], password=somebody.password)).status == 404
    assert "My phone" in (await signed_in.get("/security")).text


async def test_without_a_script_the_page_says_what_is_missing(browser: Browser) -> None:
    page = await browser.get("/sign-in")
    told = re.search(r"<noscript>(.*?)</noscript>", page.text, re.DOTALL)
    assert told is not None
    assert "Passkeys need a script" in told[1]
    assert re.search(r'<form[^>]*action="/sign-in/passkey"[^>]* hidden>', page.text)


@pytest.mark.parametrize(
    ("url", "host", "origin"),
    [
        ("https://console.example", "console.example", "https://console.example"),
        ("https://Console.Example:443", "console.example", "https://console.example"),
        ("https://console.example:8443", "console.example", "https://console.example:8443"),
        ("http://localhost:8088", "localhost", "http://localhost:8088"),
        ("http://console.example", None, None),
        ("http://127.0.0.1:8088", None, None),
        ("https://192.0.2.7", None, None),
        ("https://[2001:db8::7]", None, None),
        ("", None, None),
    ],
)
def test_passkeys_are_for_https_and_names(site: Site, url: str, host: str | None, origin: str | None) -> None:
    party = msgspec.structs.replace(site, console_url=url).passkeys_for
    assert (party and party.host, party and party.origin) == (host, origin)


async def test_over_plain_http_no_passkeys_are_offered_and_the_page_says_why(
    desks: Desks, site: Site, person: Person
) -> None:
    plain = msgspec.structs.replace(site, console_url="http://console.example")
    browser = Browser(console(desks, plain), origin="http://console.example")
    assert "/sign-in/passkey" not in (await browser.get("/sign-in")).text
    await enter(browser, person)
    assert "only over HTTPS" in (await browser.get("/security")).text
    page = await browser.get("/security/passkeys/new")
    assert ("only over HTTPS" in page.text, 'name="password"' in page.text) == (True, False)
    answer = await browser.post("/security/passkeys/new", name="My phone", password=person.password)
    assert answer.goes_to == "/security/passkeys/new"
