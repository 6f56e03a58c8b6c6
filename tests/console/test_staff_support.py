"""Pages of support: disputes, calls, bans, restrictions, resets; and the customer's side of a dispute."""

from datetime import timedelta
from uuid import uuid4

import asyncpg
import pytest
from starlette.applications import Starlette

from tests.console.browser import Browser
from tests.console.calls import CallMade, a_call, in_words
from tests.console.test_staff_pages import staff_browser
from tests.customers import Customer, Customers
from tests.people import People, Person
from tollkeeper.core.money.charge import Ending, UsageSource
from tollkeeper.core.people.logins import Role
from tollkeeper.core.usage.disputes import DISPUTES_A_DAY

BAN = """
insert into ban (ip, until, why, counted) values ($1, ledger_now() + interval '1 h', 'invalid_calls', $2) returning id
"""
EVIDENCE = '{"calls": 301, "within_seconds": 60, "codes_seen_here": {"not_found": 51, "invalid_api_key": 250}}'
RESTRICT = """
insert into restriction (account_id, until, peak_seconds, within_seconds, ip)
values ($1, ledger_now() + interval '1 h', 700, 3600, '192.0.2.9')
"""
ATTEMPT = {"account": "azure-1", "outcome": "completed", "status": 200, "ms": 900, "first_byte_ms": 70, "cost": 7}


@pytest.fixture
async def operator(application: Starlette, people: People) -> Browser:
    return await staff_browser(application, people, Role.OPERATOR)


@pytest.fixture
async def support(application: Starlette, people: People) -> Browser:
    return await staff_browser(application, people, Role.SUPPORT)


@pytest.fixture
async def model(townsfolk: Customers) -> str:
    return await townsfolk.a_model()


async def test_a_customer_tells_of_a_wrong_charge_and_an_operator_credits_it(
    signed_in: Browser, operator: Browser, town_owner: asyncpg.Connection, key_holder: Customer, model: str
) -> None:
    call = await a_call(town_owner, key_holder, CallMade(model=model, attempts=[ATTEMPT]))
    page = await signed_in.get(f"/usage/{call}")
    assert f"at most {DISPUTES_A_DAY} calls in 24 hours" in in_words(page.text)
    assert (await signed_in.post(f"/usage/{call}/dispute", kind="nonsense")).status == 422
    await signed_in.post(f"/usage/{call}/dispute", kind="too_much", note="twice the usual")
    assert "A person looks at this charge" in in_words((await signed_in.follow()).text)
    assert "twice the usual" in (await operator.get("/staff/disputes")).text
    shown = await operator.get(f"/staff/disputes/{call}")
    for evidence in ("azure-1", "The provider reported its usage.", "0.00022 USD", "twice the usual"):
        assert evidence in in_words(shown.text)
    path = f"/staff/disputes/{call}/credit"
    once = shown.hidden()["form_id"]
    assert (await operator.post(path, form_id=once, usd="5", reason="too kind")).status == 422
    assert "No more than 0.00022 USD was charged" in operator.page.text
    fresh = (await operator.get(path)).hidden()["form_id"]
    await operator.post(path, form_id=fresh, usd="0.00011", reason="half of it")
    assert "Credited." in (await operator.follow()).text
    receipt = in_words((await signed_in.get(f"/usage/{call}")).text)
    assert "$0.00011 came back to you" in receipt
    assert await town_owner.fetchval("select granted from lot where source_id = $1", str(call)) == 55_000_000


async def test_a_charge_for_nothing_comes_back_at_once(
    signed_in: Browser, town_owner: asyncpg.Connection, key_holder: Customer, model: str
) -> None:
    made = CallMade(model=model, output_units=0, source=UsageSource.COUNTED_INPUT)
    call = await a_call(town_owner, key_holder, made)
    await signed_in.get(f"/usage/{call}")
    await signed_in.post(f"/usage/{call}/dispute", kind="nothing_came")
    assert "nothing was delivered. The charge was credited" in in_words((await signed_in.follow()).text)
    again = await signed_in.post(f"/usage/{call}/dispute", kind="nothing_came")
    assert again.status == 422


async def test_support_declines_with_words_and_cannot_credit(
    signed_in: Browser, support: Browser, town_owner: asyncpg.Connection, key_holder: Customer, model: str
) -> None:
    call = await a_call(town_owner, key_holder, CallMade(model=model, ending=Ending.CLIENT_LEFT, output_units=0))
    await signed_in.get(f"/usage/{call}")
    await signed_in.post(f"/usage/{call}/dispute", kind="nothing_came")
    shown = await support.get(f"/staff/disputes/{call}")
    assert "/credit" not in shown.text
    assert (await support.post(f"/staff/disputes/{call}/decline", reason=" ")).status == 422
    await support.post(f"/staff/disputes/{call}/decline", reason="You hung up: the provider worked.")
    assert "Declined." in (await support.follow()).text
    assert "You hung up: the provider worked." in in_words((await signed_in.get(f"/usage/{call}")).text)


async def test_what_is_not_ones_own_or_too_old_or_free_cannot_be_disputed(
    signed_in: Browser, townsfolk: Customers, town_owner: asyncpg.Connection, key_holder: Customer, model: str
) -> None:
    await signed_in.get("/usage")
    others = await a_call(town_owner, await townsfolk.a_customer(), CallMade(model=model))
    assert (await signed_in.post(f"/usage/{others}/dispute", kind="other")).status == 404
    for made in (CallMade(model=model, charged=0), CallMade(model=model, ago=timedelta(days=61))):
        call = await a_call(town_owner, key_holder, made)
        assert "dispute-form" not in (await signed_in.get(f"/usage/{call}")).text
        assert (await signed_in.post(f"/usage/{call}/dispute", kind="other")).status == 422


async def test_the_receipts_form_speaks_chinese(
    signed_in: Browser, town_owner: asyncpg.Connection, key_holder: Customer, model: str
) -> None:
    call = await a_call(town_owner, key_holder, CallMade(model=model))
    assert "这笔费用有误" in (await signed_in.get(f"/usage/{call}?lang=zh")).text


async def test_a_call_is_found_by_its_request_id(
    support: Browser, townsfolk: Customers, town_owner: asyncpg.Connection, model: str
) -> None:
    assert "x-request-id" in (await support.get("/staff/calls")).text
    assert (await support.get("/staff/calls?id=nonsense")).status == 422
    call = await a_call(town_owner, await townsfolk.a_customer(), CallMade(model=model, attempts=[ATTEMPT]))
    assert (await support.get(f"/staff/calls?id={call}")).goes_to == f"/staff/calls/{call}"
    page = in_words((await support.get(f"/staff/calls/{call}")).text)
    assert model in page
    assert "azure-1" in page
    for unknown in (uuid4(), "nonsense"):
        assert (await support.get(f"/staff/calls/{unknown}")).status == 404


async def test_a_refused_call_is_shown_with_its_reason(
    support: Browser, townsfolk: Customers, town_owner: asyncpg.Connection
) -> None:
    customer, request_id = await townsfolk.a_customer(), uuid4()
    await town_owner.execute(
        "insert into refused_call (request_id, account_id, key_id, code) values ($1, $2, 1, 'paused_api_key')",
        request_id,
        customer.account_id,
    )
    assert "paused_api_key" in (await support.get(f"/staff/calls/{request_id}")).text


async def test_a_ban_is_shown_with_its_evidence_and_lifted(support: Browser, town_owner: asyncpg.Connection) -> None:
    ban: int = await town_owner.fetchval(BAN, "198.51.100.3", EVIDENCE)
    assert "198.51.100.3" in (await support.get("/staff/bans")).text
    page = in_words((await support.get(f"/staff/bans/{ban}")).text)
    assert "301 invalid calls within 60 s" in page
    assert "invalid_api_key 250" in page
    assert (await support.post(f"/staff/bans/{ban}/lift", reason="")).status == 422
    await support.post(f"/staff/bans/{ban}/lift", reason="they mended it")
    assert "The ban is lifted" in (await support.follow()).text
    assert "they mended it" in support.page.text
    assert "198.51.100.3" not in (await support.get("/staff/bans")).text
    assert (await support.get("/staff/bans/999999")).status == 404


async def test_a_client_is_banned_by_hand(support: Browser) -> None:
    await support.get("/staff/bans")
    wrong = await support.post("/staff/bans/add", ip="example.com", hours="2", reason="scraping")
    assert wrong.status == 422
    assert 'value="example.com"' in wrong.text
    assert (await support.post("/staff/bans/add", ip="198.51.100.4", hours="x", reason="scraping")).status == 422
    await support.post("/staff/bans/add", ip="198.51.100.4", hours="2", reason="scraping")
    assert "by hand: scraping" in in_words((await support.follow()).text)


async def test_a_restriction_is_shown_with_its_minutes_and_lifted(
    support: Browser, townsfolk: Customers, town_owner: asyncpg.Connection
) -> None:
    account = (await townsfolk.a_customer()).account_id
    await town_owner.execute(RESTRICT, account)
    assert f"/staff/restrictions/{account}" in (await support.get("/staff/restrictions")).text
    page = await support.get(f"/staff/restrictions/{account}")
    assert "700 s of 3,600 s" in in_words(page.text)
    await support.post(f"/staff/restrictions/{account}/lift", reason="a known customer")
    assert "full rate again" in (await support.follow()).text
    assert "Not restricted" in support.page.text


async def test_a_second_factor_is_dropped_by_two(
    application: Starlette, people: People, support: Browser, town_owner: asyncpg.Connection, person: Person
) -> None:
    await people.enrol(person)
    await support.get("/staff/resets")
    account = str(person.account_id)
    asked = await support.post("/staff/resets/ask", account=account, what="second_factor", reason="lost it")
    page = await support.get(asked.goes_to)
    assert "You asked for this" in page.text
    path = asked.goes_to.partition("?")[0]
    assert (await support.post(f"{path}/confirm", reason="myself")).status == 422
    colleague = await staff_browser(application, people, Role.SUPPORT)
    assert "lost it" in (await colleague.get("/staff/resets")).text
    await colleague.get(path)
    await colleague.post(f"{path}/confirm", reason="I called them")
    assert "Dropped." in (await colleague.follow()).text
    gone = "select totp_confirmed_at is null from login where account_id = $1"
    assert await town_owner.fetchval(gone, person.account_id)
    nothing = await colleague.post("/staff/resets/ask", account=str(person.account_id), what="passkeys", reason="again")
    assert nothing.status == 422
    assert "no such thing to drop" in nothing.text


async def test_empty_pages_say_what_to_do_next(support: Browser) -> None:
    for path in ("/staff/disputes?account=1", "/staff/bans?ip=203.0.113.77", "/staff/resets?account=1"):
        page = await support.get(path)
        assert page.status == 200
        assert "Ask for fewer things" in page.text


async def test_a_filter_that_cannot_be_read_is_told(support: Browser) -> None:
    for path, name in (("/staff/disputes", "account"), ("/staff/resets", "account"), ("/staff/bans", "all")):
        page = await support.get(f"{path}?{name}=nonsense")
        assert page.status == 422
        assert f"{name.capitalize()}: " in in_words(page.text)
