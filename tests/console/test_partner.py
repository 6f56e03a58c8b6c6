"""The partner plan on its page."""

import re
from decimal import Decimal

import asyncpg
import pytest
from starlette.applications import Starlette

from tests.codes import sold
from tests.console.browser import Answer, Browser
from tests.customers import ACTOR, Customers
from tests.people import Enrolled, People, Person
from tollkeeper.accounts.money.codes import BatchWish
from tollkeeper.accounts.money.redeem import RedeemWish, redeem
from tollkeeper.console.desks import Desks
from tollkeeper.core.partner.plan import micros_from_usd
from tollkeeper.settings import Settings

OLDER = "update login set totp_confirmed_at = totp_confirmed_at - interval '80 hours' where account_id = $1"
EARNED = "update reward set available_at = granted_at where account_id = $1"


async def a_partner(people: People, townsfolk: Customers, desks: Desks) -> tuple[Person, Person]:
    """Somebody with a friend who topped up 1,000 USD: 25 USD of cash."""
    person = await people.a_person()
    gift_code = (await desks.partners.statement(person.account_id)).gift_code
    friend = await people.a_person(gift_code=gift_code)
    wish = BatchWish(codes=1, usd_micros=micros_from_usd(Decimal(1_000)), months=9)
    [card] = await sold(townsfolk.desk.codes, wish)
    code = RedeemWish(account_id=friend.account_id, code=card, ip=None)
    await redeem(code, desks.referral_terms, desks.redemptions, actor=ACTOR)
    return person, friend


async def as_owner(settings: Settings, sql: str, account_id: int) -> None:
    owner = await asyncpg.connect(settings.database_url.reveal(), server_settings={"search_path": "tollkeeper"})
    assert await owner.execute(sql, account_id) == "UPDATE 1"
    await owner.close()


async def ask(browser: Browser, **fields: str) -> Answer:
    page = await browser.get("/partner")
    usual = {"form_id": page.hidden()["form_id"], "amount": "10", "payee": "A. Person, Bank of Examples"}
    return await browser.post("/partner", **usual | fields)


def inside(application: Starlette, enrolled: Enrolled) -> Browser:
    browser = Browser(application)
    browser.cookies["__Host-tollkeeper"] = enrolled.token
    return browser


async def test_the_page_has_the_link_and_the_code(signed_in: Browser, person: Person, desks: Desks) -> None:
    gift_code = (await desks.partners.statement(person.account_id)).gift_code
    page = await signed_in.get("/partner")
    assert f'data-copy="https://console.example/i/{gift_code}"' in page.text
    assert f'data-copy="{gift_code}"' in page.text
    assert "No reward yet" in page.text
    assert 'href="#rewards"' not in page.text
    assert 'href="/security/second-factor"' in page.text
    assert 'action="/partner"' not in page.text


async def test_cash_is_withdrawn_with_a_second_factor_once(
    application: Starlette, people: People, townsfolk: Customers, desks: Desks, town_settings: Settings
) -> None:
    person, friend = await a_partner(people, townsfolk, desks)
    enrolled = await people.enrol(person)
    browser = inside(application, enrolled)
    page = await browser.get("/partner")
    assert re.search(r'Waiting</div>[^$]*<a class="text-reset" href="#rewards">[^$]*\$25\.00', page.text)
    assert 'id="rewards"' in page.text
    assert friend.email not in page.text
    await as_owner(town_settings, EARNED, person.account_id)
    refused = await ask(browser, code=enrolled.code())
    assert (refused.status, "less than 72 hours old" in refused.text) == (422, True)
    await as_owner(town_settings, OLDER, person.account_id)
    short = await ask(browser, amount="25.01", code=enrolled.recovery_codes[0])
    assert (short.status, 'id="amount-error">$25.00 can be withdrawn' in short.text) == (422, True)
    page = await browser.get("/partner")
    fields = page.hidden() | {"amount": "25", "payee": "A. Person", "code": enrolled.recovery_codes[1]}
    assert (await browser.post("/partner", **fields)).goes_to == "/partner?done=withdrawal-asked"
    assert (await browser.post("/partner", **fields)).goes_to == "/partner?done=sent-before"
    [withdrawal] = (await desks.partners.statement(person.account_id)).withdrawals
    assert (withdrawal.usd_micros, withdrawal.payee) == (25_000_000, "A. Person")
    again = await ask(browser, code=enrolled.recovery_codes[2])
    assert (again.status, "not decided yet" in again.text) == (422, True)


@pytest.mark.parametrize(
    ("field", "given"),
    [("amount", ""), ("amount", "-5"), ("amount", "0.0000001"), ("payee", ""), ("payee", "x" * 201), ("code", "123")],
)
async def test_what_cannot_be_taken_is_told_beside_its_field(
    application: Starlette, people: People, desks: Desks, field: str, given: str
) -> None:
    person = await people.a_person()
    enrolled = await people.enrol(person)
    answer = await ask(inside(application, enrolled), **{"code": "000000", field: given})
    assert (answer.status, f'id="{field}-error"' in answer.text) == (422, True)
    assert (await desks.partners.statement(person.account_id)).withdrawals == []


async def test_a_withdrawal_without_a_second_factor_is_refused(
    signed_in: Browser, person: Person, desks: Desks
) -> None:
    await signed_in.get("/partner")
    assert (await signed_in.post("/partner", amount="10", payee="me", code="000000")).status == 403
    assert (await desks.partners.statement(person.account_id)).withdrawals == []
