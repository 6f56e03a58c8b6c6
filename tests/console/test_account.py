"""Another e-mail, and closing an account, in the browser."""

import re

import asyncpg
import pytest
from starlette.applications import Starlette

from tests.console.browser import Browser
from tests.console.calls import in_words
from tests.console.conftest import enter
from tests.customers import Customer, Customers
from tests.people import People, Person, an_email

SESSION = "__Host-tollkeeper"
ONE_USD = 500_000_000_000


async def test_an_e_mail_is_changed_by_its_link_and_this_session_goes_on(
    application: Starlette, signed_in: Browser, person: Person, people: People
) -> None:
    other, new = Browser(application), an_email()
    await enter(other, person)
    assert "/security/email" in (await signed_in.get("/security")).text
    await signed_in.get("/security/email")
    wrong = await signed_in.post("/security/email", email=new, password="wrong")
    assert (wrong.status, 'id="password-error"' in wrong.text, f'value="{new}"' in wrong.text) == (422, True, True)
    same = await signed_in.post("/security/email", email=person.email, password=person.password)
    assert (same.status, 'id="email-error"' in same.text) == (422, True)
    answer = await signed_in.post("/security/email", email=new, password=person.password)
    assert answer.goes_to == "/security/email/sent"
    assert person.email in (await signed_in.follow()).text
    await people.postman.round()
    token = people.mailbox.last_token(new)
    page = await signed_in.get(f"/security/email/confirm?token={token}")
    assert (page.header("referrer-policy"), new in page.text) == ("no-referrer", True)
    # Looking changes nothing.
    assert new not in (await signed_in.get("/security")).text
    await signed_in.get(f"/security/email/confirm?token={token}")
    assert (await signed_in.post("/security/email/confirm", token=token)).goes_to == "/security?done=email-changed"
    assert new in (await signed_in.follow()).text
    assert (await other.get("/security")).status == 303
    over = await signed_in.post("/security/email/confirm", token=token)
    assert (over.status, "does nothing any more" in over.text) == (422, True)


async def test_a_link_opened_by_a_stranger_ends_at_signing_in(
    signed_in: Browser, browser: Browser, person: Person, people: People
) -> None:
    new = an_email()
    await signed_in.get("/security/email")
    await signed_in.post("/security/email", email=new, password=person.password)
    await people.postman.round()
    token = people.mailbox.last_token(new)
    await browser.get(f"/security/email/confirm?token={token}")
    answer = await browser.post("/security/email/confirm", token=token)
    assert answer.goes_to == "/sign-in?done=email-changed-out"
    assert (await signed_in.get("/security")).status == 303
    await browser.follow()
    assert (await browser.post("/sign-in", email=new, password=person.password)).goes_to == "/"


async def test_an_e_mail_in_use_gets_the_same_answer_as_any_other(
    signed_in: Browser, person: Person, people: People
) -> None:
    known = await people.a_person()

    async def told(email: str) -> list[str]:
        await signed_in.get("/security/email")
        answer = await signed_in.post("/security/email", email=email, password=person.password)
        page = await signed_in.follow()
        return [str(answer.status), answer.goes_to, re.sub(r'name="form_token" value="\w+"', "", page.text)]

    assert await told(known.email) == await told(an_email())


async def test_the_page_about_closing_tells_what_happens_in_numbers(
    signed_in: Browser, key_holder: Customer, townsfolk: Customers, town_owner: asyncpg.Connection
) -> None:
    account_id = key_holder.account_id
    await townsfolk.credit(account_id, "12.50")
    await townsfolk.a_key(account_id)
    await town_owner.execute("update account_books set held = $2 where account_id = $1", account_id, ONE_USD)
    told = in_words((await signed_in.get("/security/close")).text)
    await town_owner.execute("update account_books set held = 0 where account_id = $1", account_id)
    assert "2 keys are revoked at once" in told
    assert "Quota left $12.50 It stays on the closed account" in told
    assert "Held $1.00 Calls that are running are charged" in told
    assert "$0.00 can be withdrawn, $0.00 is waiting." in told
    assert "For 30 days support can open the account again" in told


async def test_an_account_is_closed_and_signing_in_says_so(
    application: Starlette, signed_in: Browser, person: Person, key_holder: Customer, town_owner: asyncpg.Connection
) -> None:
    other = Browser(application)
    await enter(other, person)
    page = await signed_in.get("/security/close")
    refused = await signed_in.post(
        "/security/close", form_id=page.hidden()["form_id"], email=an_email(), password=person.password
    )
    assert (refused.status, 'id="email-error"' in refused.text) == (422, True)
    refused = await signed_in.post(
        "/security/close", form_id=refused.hidden()["form_id"], email=person.email, password="wrong"
    )
    assert (refused.status, 'id="password-error"' in refused.text) == (422, True)
    answer = await signed_in.post(
        "/security/close", form_id=refused.hidden()["form_id"], email=person.email, password=person.password
    )
    assert answer.goes_to == "/sign-in?done=account-closed"
    assert SESSION not in signed_in.cookies
    assert (await other.get("/")).goes_to == "/sign-in"
    assert await town_owner.fetchval("select revoked_at is not null from api_key where id = $1", key_holder.key_id)
    await signed_in.follow()
    closed = await signed_in.post("/sign-in", email=person.email, password=person.password)
    assert (closed.status, "was closed by its owner" in closed.text) == (403, True)


@pytest.mark.parametrize("path", ["/security/email", "/security/close"])
async def test_whoever_has_a_second_factor_is_asked_for_a_code(
    browser: Browser, people: People, person: Person, path: str
) -> None:
    browser.cookies[SESSION] = (await people.enrol(person)).token
    page = await browser.get(path)
    assert 'name="code"' in page.text
    form_id = page.hidden().get("form_id", "")
    email = person.email if path == "/security/close" else an_email()
    answer = await browser.post(path, form_id=form_id, email=email, password=person.password, code="")
    assert (answer.status, 'id="code-error"' in answer.text) == (422, True)
