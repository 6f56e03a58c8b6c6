"""The way in: from signing up to signing out."""

import re

import msgspec
import pyotp
import pytest
from starlette.applications import Starlette

from tests.console.browser import Browser
from tests.console.conftest import enter
from tests.people import PASSWORD, People, Person, an_email
from tollkeeper.console.application import console
from tollkeeper.console.desks import Desks, Site

SESSION = "__Host-tollkeeper"


async def test_signing_up_ends_at_home(browser: Browser, people: People) -> None:
    email = an_email()
    await browser.get("/sign-up")
    assert (await browser.post("/sign-up", email=email, name="Ada")).goes_to == "/sign-up/sent"
    await people.postman.round()
    token = people.mailbox.last_token(email)
    page = await browser.get(f"/verify?token={token}")
    assert email in page.text
    assert page.header("referrer-policy") == "no-referrer"
    answer = await browser.post("/verify", token=token, new_password=PASSWORD, invite="")
    assert answer.goes_to == "/sign-in?done=account-opened"
    assert "Your account is open" in (await browser.follow()).text
    assert (await browser.post("/sign-in", email=email, password=PASSWORD)).goes_to == "/"
    assert "Hello, Ada" in (await browser.follow()).text


@pytest.mark.parametrize("path", ["/sign-up/sent", "/forgot/sent"])
@pytest.mark.parametrize(
    ("changes", "sent"),
    [({}, True), ({"sends_mail": False}, False), ({"console_url": ""}, False)],
    ids=["a mail goes out", "no mail server", "nobody knows where the console is"],
)
async def test_a_mail_is_said_to_be_on_its_way_where_it_is(
    desks: Desks, site: Site, path: str, changes: dict[str, object], sent: bool
) -> None:
    browser = Browser(console(desks, msgspec.structs.replace(site, **changes)))
    text = (await browser.get(path)).text
    assert ("on its way" in text, "Look among the junk" in text) == (sent, sent)
    assert ("has not set up mail" in text) is not sent


async def test_an_invite_link_fills_in_its_code(browser: Browser) -> None:
    assert (await browser.get("/i/AB2CD")).goes_to == "/sign-up?invite=AB2CD"
    assert 'value="AB2CD"' in (await browser.follow()).text


async def test_a_wrong_password_is_told_above_the_form(browser: Browser, person: Person) -> None:
    await browser.get("/sign-in")
    answer = await browser.post("/sign-in", email=person.email, password="wrong")
    assert answer.status == 422
    assert "is not right" in answer.text
    assert SESSION not in browser.cookies


async def test_a_bad_password_is_told_beside_its_field(browser: Browser, people: People) -> None:
    email = an_email()
    await people.sign_up(email)
    token = people.mailbox.last_token(email)
    await browser.get(f"/verify?token={token}")
    answer = await browser.post("/verify", token=token, new_password="short", invite="")
    assert answer.status == 422
    assert 'id="new_password-error"' in answer.text


async def test_a_sixth_attempt_is_refused_until_a_reset(browser: Browser, people: People, person: Person) -> None:
    await browser.get("/sign-in")
    for _ in range(5):
        await browser.post("/sign-in", email=person.email, password="wrong")
    assert (await browser.post("/sign-in", email=person.email, password=person.password)).status == 429
    await browser.get("/forgot")
    assert (await browser.post("/forgot", email=person.email)).goes_to == "/forgot/sent"
    await people.postman.round()
    token = people.mailbox.last_token(person.email)
    await browser.get(f"/reset?token={token}")
    await browser.post("/reset", token=token, new_password="another good password")
    assert browser.page.goes_to == "/sign-in?done=password-reset"
    await browser.follow()
    await browser.post("/sign-in", email=person.email, password="another good password")
    assert browser.page.goes_to == "/"


async def test_every_sign_in_has_a_session_of_its_own(browser: Browser, person: Person) -> None:
    """What a stranger put into the browser before is not what is used after (session fixation)."""
    browser.cookies[SESSION] = planted = "a" * 43
    await enter(browser, person)
    first = browser.cookies[SESSION]
    await browser.post("/sign-out")
    assert SESSION not in browser.cookies
    await enter(browser, person)
    assert len({planted, first, browser.cookies[SESSION]}) == 3


async def test_a_session_that_was_signed_out_is_over(signed_in: Browser) -> None:
    token = signed_in.cookies[SESSION]
    await signed_in.post("/sign-out")
    signed_in.cookies[SESSION] = token
    assert (await signed_in.get("/")).goes_to == "/sign-in"


async def test_a_second_factor_is_set_up_used_and_turned_off(signed_in: Browser, person: Person) -> None:
    await signed_in.get("/security/second-factor")
    page = await signed_in.post("/security/second-factor", password=person.password)
    secret = re.search(r"<code>([A-Z2-7 ]+)</code>", page.text)
    assert secret is not None
    assert '<svg xmlns="http://www.w3.org/2000/svg"' in page.text
    app = pyotp.TOTP(secret[1].replace(" ", ""))
    ticket = page.hidden()["ticket"]
    wrong = await signed_in.post("/security/second-factor/confirm", ticket=ticket, code="000000")
    assert (wrong.status, secret[1] in wrong.text) == (422, True)
    done = await signed_in.post("/security/second-factor/confirm", ticket=wrong.hidden()["ticket"], code=app.now())
    recovery = re.findall(r"<li>([0-9A-Z-]{19})</li>", done.text)
    assert len(recovery) == 10
    assert (await signed_in.get("/security")).status == 200
    await signed_in.post("/sign-out")
    await signed_in.get("/sign-in")
    asked = await signed_in.post("/sign-in", email=person.email, password=person.password)
    assert (asked.status, person.password in asked.text) == (200, False)
    ticket = asked.hidden()["ticket"]
    assert (await signed_in.post("/sign-in/code", ticket=ticket, code="123456")).status == 422
    ticket = signed_in.page.hidden()["ticket"]
    assert (await signed_in.post("/sign-in/code", ticket=ticket, code=recovery[0])).goes_to == "/"
    await signed_in.get("/security/second-factor")
    assert (await signed_in.post("/security/second-factor/off", code=recovery[0])).status == 422
    answer = await signed_in.post("/security/second-factor/off", code=recovery[1])
    assert answer.goes_to == "/security?done=second-factor-off"


async def test_a_ticket_is_good_for_nobody_else(application: Starlette, signed_in: Browser, person: Person) -> None:
    await signed_in.get("/security/second-factor")
    page = await signed_in.post("/security/second-factor", password=person.password)
    ticket = page.hidden()["ticket"]
    stranger = Browser(application)
    await stranger.get("/sign-in")
    assert (await stranger.post("/sign-in/code", ticket=ticket, code="123456")).goes_to == "/sign-in"


async def test_a_changed_password_ends_other_sessions(
    application: Starlette, signed_in: Browser, person: Person
) -> None:
    other = Browser(application)
    await enter(other, person)
    await signed_in.get("/security")
    refused = await signed_in.post("/security/password", old_password="wrong", new_password="another good password")
    assert (refused.status, 'id="old_password-error"' in refused.text) == (422, True)
    answer = await signed_in.post(
        "/security/password", old_password=person.password, new_password="another good password"
    )
    assert answer.goes_to == "/security?done=password-changed"
    assert (await signed_in.get("/security")).status == 200
    assert (await other.get("/security")).goes_to == "/sign-in?next=/security"


async def test_sessions_are_ended_one_by_one_and_all_at_once(
    application: Starlette, signed_in: Browser, person: Person, people: People
) -> None:
    other, third = Browser(application), Browser(application)
    await enter(other, person)
    await enter(third, person)
    page = await signed_in.get("/security")
    assert page.text.count('action="/security/sessions/') == 5
    newest = re.findall(r"/security/sessions/(\d+)/end", page.text)[0]
    await signed_in.post(f"/security/sessions/{newest}/end")
    assert (await third.get("/")).status == 303
    assert (await other.get("/")).status == 200
    stranger = Browser(application)
    await enter(stranger, await people.a_person())
    mine = re.findall(r"/security/sessions/(\d+)/end", page.text)[-1]
    await stranger.post(f"/security/sessions/{mine}/end")
    assert (await signed_in.get("/security")).status == 200
    await signed_in.post("/security/sessions/end-all")
    assert (await other.get("/")).status == 303


@pytest.mark.parametrize("way", ["https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)"])
async def test_signing_in_leads_to_pages_of_ours_only(browser: Browser, person: Person, way: str) -> None:
    await browser.get("/sign-in")
    answer = await browser.post("/sign-in", email=person.email, password=person.password, next=way)
    assert answer.goes_to == "/"
