"""Reading as a customer: everything is seen, and nothing can be sent, whatever the page."""

import re

import asyncpg
import pytest
from starlette.applications import Starlette

from tests.console.browser import Answer, Browser
from tests.console.test_staff_pages import path_of, staff_browser
from tests.customers import Customer
from tests.people import AN_OPERATOR, People, Person
from tollkeeper.accounts.people.staff import set_role
from tollkeeper.console.desks import Desks
from tollkeeper.console.pages import Page, Who
from tollkeeper.console.staff.table import STAFF
from tollkeeper.console.table import PAGES
from tollkeeper.core.people.logins import Role
from tollkeeper.office.readings import EndReadingWish, ReadingsWish, end_reading_as, list_readings
from tollkeeper.ports import NotOnFile

STOP, SIGN_OUT = "/staff/stop-reading", "/sign-out"
REFUSED = "nothing can be changed meanwhile"
EVERY = (*PAGES, *STAFF)
# The rest of what a session reads is not an account's: tokens in the address, and ways in.
READ = [page for page in PAGES if page.method == "GET" and page.who in (Who.SIGNED_IN, Who.SETTING_UP)]


def named(page: Page) -> str:
    return f"{page.method} {page.path}"


async def read_as(browser: Browser, account_id: int, reason: str = "asks about a call") -> Answer:
    path = f"/staff/customers/{account_id}/read-as"
    await browser.get(path)
    return await browser.post(path, reason=reason)


@pytest.fixture
async def reader(application: Starlette, people: People, person: Person) -> Browser:
    """Support, reading as `person`."""
    found = await staff_browser(application, people, Role.SUPPORT)
    assert (await read_as(found, person.account_id)).goes_to == "/"
    return found


async def on_record(owner: asyncpg.Connection, account_id: int) -> list[tuple[str, str, str]]:
    rows = await owner.fetch(
        "select action, actor, detail::jsonb ->> 'reason' as reason, detail::jsonb ->> 'how' as how from audit"
        " where subject = $1 and action like 'account.read_as%' order by id",
        f"account:{account_id}",
    )
    return [(row["action"], row["actor"], row["reason"] or row["how"]) for row in rows]


async def staff_account(owner: asyncpg.Connection, account_id: int) -> int:
    """Whose session reads as this account."""
    found: int = await owner.fetchval(
        "select s.account_id from read_as r join session s on s.id = r.session_id where r.account_id = $1"
        " order by r.id desc limit 1",
        account_id,
    )
    return found


async def state_of(owner: asyncpg.Connection, *accounts: int) -> list[object]:
    """What the pages of a customer could change, of these accounts."""
    told: list[object] = []
    for account in accounts:
        for table in ("account", "login", "api_key", "lot", "notice_choice", "passkey", "withdrawal", "top_up"):
            column = "id" if table == "account" else "account_id"
            told.append(await owner.fetch(f"select t.*::text from {table} t where {column} = $1 order by 1", account))  # noqa: S608
    return told


async def test_exactly_two_forms_are_taken_from_whoever_reads() -> None:
    assert sorted(page.path for page in EVERY if page.while_reading) == [SIGN_OUT, STOP]
    assert all(page.method == "POST" for page in EVERY if page.while_reading)


async def test_no_form_of_any_page_is_taken_from_whoever_reads(
    reader: Browser, person: Person, key_holder: Customer, town_owner: asyncpg.Connection
) -> None:
    accounts = (person.account_id, await staff_account(town_owner, person.account_id))
    before = await state_of(town_owner, *accounts)
    acts = await town_owner.fetchval("select count(*) from audit")
    posts = [page for page in EVERY if page.method == "POST" and not page.while_reading]
    assert len(posts) > 40
    for page in posts:
        # With everything that a form of ours has, and about what is really there.
        await reader.get("/keys/new")
        path = re.sub(r"\{key\w*:int\}", str(key_holder.key_id), page.path)
        path = re.sub(r"\{account:int\}", str(person.account_id), path)
        answer = await reader.post(re.sub(r"\{\w+(:\w+)?\}", "1", path), **reader.page.hidden(), reason="a try")
        assert answer.status == 403, named(page)
        assert REFUSED in answer.text, named(page)
        assert "You read as A person" in answer.text, named(page)
        assert not [line for line in answer.cookies if "-stranger" not in line], named(page)
    assert await state_of(town_owner, *accounts) == before
    assert await town_owner.fetchval("select count(*) from audit") == acts


async def test_a_reading_is_listed_and_ended_by_others(
    reader: Browser, person: Person, desks: Desks, town_owner: asyncpg.Connection
) -> None:
    office = desks.office
    [found] = (await list_readings(office, ReadingsWish(account=person.account_id), AN_OPERATOR)).data
    assert (found.reader, found.reason, found.ended_at) == (
        await staff_account(town_owner, person.account_id),
        "asks about a call",
        None,
    )
    wish = EndReadingWish(reading=found.reading, reason="it took too long")
    assert [(await end_reading_as(office, wish, AN_OPERATOR)).changed for _ in range(2)] == [True, False]
    assert "You read as" not in (await reader.get("/staff")).text
    assert (await on_record(town_owner, person.account_id))[-1] == (
        "account.read_as_end",
        AN_OPERATOR.name,
        "it took too long",
    )
    with pytest.raises(NotOnFile):
        await end_reading_as(office, EndReadingWish(reading=10**12, reason="a slip"), AN_OPERATOR)


@pytest.mark.parametrize("page", READ, ids=named)
async def test_every_page_of_a_customer_has_the_banner(
    application: Starlette, people: People, person: Person, reader: Browser, page: Page
) -> None:
    answer = await reader.get(path_of(page))
    own = Browser(application)
    own.cookies["__Host-tollkeeper"] = (await people.sign_in(person)).token
    assert answer.status == (await own.get(path_of(page))).status
    if "text/html" in answer.header("content-type"):
        assert f"You read as A person, account {person.account_id}." in answer.text
        assert "Nothing can be changed." in answer.text


async def test_what_is_read_is_the_customers_and_the_actor_stays_staff(
    reader: Browser, person: Person, key_holder: Customer, town_owner: asyncpg.Connection
) -> None:
    hint = await town_owner.fetchval("select hint from api_key where id = $1", key_holder.key_id)
    assert hint in (await reader.get("/keys")).text
    assert key_holder.key not in reader.page.text
    assert "You read as" in (await reader.get("/staff")).text
    staff = f"account:{await staff_account(town_owner, person.account_id)}"
    assert await on_record(town_owner, person.account_id) == [("account.read_as", staff, "asks about a call")]


async def test_the_chat_has_no_script_by_which_it_could_call(reader: Browser) -> None:
    assert "chat.js" not in (await reader.get("/chat")).text


async def test_reading_is_stopped_and_its_end_is_on_record(
    reader: Browser, person: Person, key_holder: Customer, town_owner: asyncpg.Connection
) -> None:
    staff = f"account:{await staff_account(town_owner, person.account_id)}"
    await reader.get("/keys")
    answer = await reader.post(STOP)
    assert answer.goes_to == f"/staff/customers/{person.account_id}?done=reading-stopped"
    assert "You read as yourself again" in (await reader.follow()).text
    assert "You read as A person" not in (await reader.get("/")).text
    assert await on_record(town_owner, person.account_id) == [
        ("account.read_as", staff, "asks about a call"),
        ("account.read_as_end", staff, "stopped"),
    ]


async def test_a_page_that_was_read_cannot_be_sent_once_reading_is_over(reader: Browser) -> None:
    """It would be about the reader's own account, which is not what they see."""
    old = (await reader.get("/notices")).hidden()
    await reader.post(STOP)
    answer = await reader.post("/notices", **old, low_balance="true")
    assert answer.status == 403
    await reader.get("/notices")
    assert (await reader.post("/notices", low_balance="true")).goes_to == "/notices?done=notices-kept"


async def test_signing_out_ends_it_on_record(reader: Browser, person: Person, town_owner: asyncpg.Connection) -> None:
    await reader.get("/")
    assert (await reader.post(SIGN_OUT)).goes_to == "/sign-in?done=signed-out"
    assert [row[2] for row in await on_record(town_owner, person.account_id)] == ["asks about a call", "signed out"]
    assert (await reader.get("/")).goes_to == "/sign-in"


async def test_after_its_time_staff_read_as_themselves_and_the_end_is_on_record(
    reader: Browser, person: Person, town_owner: asyncpg.Connection
) -> None:
    lasts = "select until - began_at from read_as where account_id = $1"
    assert (await town_owner.fetchval(lasts, person.account_id)).total_seconds() == 30 * 60
    await town_owner.execute(
        "update read_as set began_at = began_at - interval '1 h', until = until - interval '1 h' where account_id = $1",
        person.account_id,
    )
    assert "You read as" not in (await reader.get("/")).text
    assert [row[2] for row in await on_record(town_owner, person.account_id)] == [
        "asks about a call",
        "its time was up",
    ]


async def test_staff_are_not_read_as_nor_whoever_becomes_staff(
    application: Starlette, people: People, person: Person, reader: Browser
) -> None:
    await set_role(people.desk, person.account_id, Role.SUPPORT, by=AN_OPERATOR)
    assert "You read as" not in (await reader.get("/")).text
    answer = await read_as(reader, person.account_id)
    assert answer.status == 422
    assert "those are not read as" in answer.text


async def test_reading_takes_a_reason_an_account_and_staff(
    application: Starlette, people: People, person: Person, signed_in: Browser
) -> None:
    support = await staff_browser(application, people, Role.SUPPORT)
    assert (await read_as(support, person.account_id, reason=" ")).status == 422
    assert "You read as" not in (await support.get("/")).text
    assert (await support.get("/staff/customers/999999999/read-as")).status == 404
    await support.get(f"/staff/customers/{person.account_id}/read-as")
    assert (await support.post("/staff/customers/999999999/read-as", reason="who?")).status == 404
    await signed_in.get("/")
    assert (await signed_in.post(f"/staff/customers/{person.account_id}/read-as", reason="me")).status == 404


async def test_a_form_that_was_on_its_way_when_reading_began_is_refused(
    application: Starlette, people: People, person: Person
) -> None:
    """Between its head and its body."""
    first = await staff_browser(application, people, Role.SUPPORT)
    other = Browser(application)
    other.cookies = dict(first.cookies)
    await first.get("/notices")

    async def begin() -> None:
        first.before_body = None
        await read_as(other, person.account_id)

    first.before_body = begin
    answer = await first.post("/notices", low_balance="true")
    assert (answer.status, REFUSED in answer.text) == (403, True)
