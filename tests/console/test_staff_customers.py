"""Staff's pages of customers: found, looked at as a whole, and helped, each act on record with who and why."""

import re
from html import unescape
from urllib.parse import quote
from uuid import uuid4

import asyncpg
import pytest
from starlette.applications import Starlette

from tests.console.browser import Answer, Browser
from tests.console.calls import in_words
from tests.console.test_staff_pages import staff_browser
from tests.customers import Customer, Customers
from tests.people import People, Person
from tollkeeper.console.staff.customers.told import HAPPENED, happened
from tollkeeper.core.people.logins import Role
from tollkeeper.office.accounts import TimelineRow

MORE_KEYS = """
insert into api_key (account_id, pepper_version, digest, hint, name)
select account_id, pepper_version, sha256((id || '-' || n)::bytea), hint, 'key-' || n
from api_key, generate_series(1, 29) n where id = $1
"""
BAN = """
insert into ban (ip, until, why, counted, account_id)
values ('192.0.2.44', ledger_now() + interval '1 h', 'peak', '{}', $1)
"""


@pytest.fixture
async def operator(application: Starlette, people: People) -> Browser:
    return await staff_browser(application, people, Role.OPERATOR)


async def do(browser: Browser, path: str, **fields: str) -> Answer:
    """Fill the form of a page in, and send it."""
    page = await browser.get(path)
    assert page.status == 200, page.text
    return await browser.post(path, **page.hidden(), **fields)


async def last_act(owner: asyncpg.Connection, subject: str) -> tuple[str, str, str | None]:
    row = await owner.fetchrow(
        "select action, actor, detail::jsonb ->> 'reason' as reason from audit where subject = $1"
        " order by id desc limit 1",
        subject,
    )
    return row["action"], row["actor"], row["reason"]


async def test_whoever_is_meant_is_found_at_once(
    operator: Browser, people: People, person: Person, key_holder: Customer, town_owner: asyncpg.Connection
) -> None:
    here = f"/staff/customers/{person.account_id}"
    hint = await town_owner.fetchval("select hint from api_key where id = $1", key_holder.key_id)
    call = uuid4()
    await town_owner.execute(
        "insert into refused_call (request_id, account_id, key_id, code) values ($1, $2, $3, 'insufficient_quota')",
        call,
        person.account_id,
        key_holder.key_id,
    )
    for text in (str(person.account_id), f"#{person.account_id}", person.email, person.email.upper(), hint):
        assert (await operator.get(f"/staff/find?q={quote(str(text))}")).goes_to == here, text
    assert (await operator.get(f"/staff/find?q={call}")).goes_to == f"/staff/calls/{call}"
    assert here in (await operator.follow()).text
    assert (await operator.get(f"/staff/find?q={person.email[:6]}")).goes_to == here
    assert (await operator.get(f"/staff/find?q={key_holder.key}")).goes_to == here
    strange = "sk-" + key_holder.key[3:][::-1]
    assert strange not in (await operator.get(f"/staff/find?q={strange}")).goes_to
    await people.a_person()
    assert (await operator.get("/staff/find?q=person")).goes_to == "/staff/customers?search=person"
    assert "A person" in (await operator.follow()).text
    assert (await operator.get("/staff/find?q=%20")).goes_to == "/staff/customers"
    await operator.get("/staff/find?q=nobody-at-all")
    assert "Nobody fits" in (await operator.follow()).text


async def test_customers_are_listed_in_pages(operator: Browser, people: People) -> None:
    newer, newest = await people.a_person(), await people.a_person()
    page = await operator.get("/staff/customers?limit=1")
    assert newest.email in page.text or page.text.count("/staff/customers/") >= 1
    assert 'rel="next"' in page.text
    assert newer.email in (await operator.get("/staff/customers")).text
    assert (await operator.get("/staff/customers?after=what")).status == 422


async def test_a_customer_is_shown_as_a_whole(
    operator: Browser, person: Person, key_holder: Customer, townsfolk: Customers, town_owner: asyncpg.Connection
) -> None:
    await townsfolk.credit(person.account_id, "10")
    page = await operator.get(f"/staff/customers/{person.account_id}")
    hint = await town_owner.fetchval("select hint from api_key where id = $1", key_holder.key_id)
    for words in (person.email, hint, "$10.00", "Key made", "Credited", "Gift code", "Second factor"):
        assert words in page.text, words
    assert key_holder.key not in page.text
    assert (await operator.get("/staff/customers/999999999")).status == 404
    assert (await operator.get(f"/staff/customers/{person.account_id}?after=what")).status == 422


async def test_a_credit_has_a_reason_and_comes_once(
    operator: Browser, person: Person, town_owner: asyncpg.Connection
) -> None:
    path = f"/staff/customers/{person.account_id}/credit"
    page = await operator.get(path)
    sent = page.hidden() | {"usd": "5", "months": "9", "reason": "a slow day"}
    assert (await operator.post(path, **sent)).goes_to == f"/staff/customers/{person.account_id}?done=credited"
    shown = await operator.follow()
    assert "a slow day" in shown.text
    assert "$5.00" in shown.text
    assert (await operator.post(path, **sent)).goes_to == f"{path}?done=sent-before"
    lots = "select count(*) from lot where account_id = $1"
    assert await town_owner.fetchval(lots, person.account_id) == 1
    action, actor, reason = await last_act(town_owner, f"account:{person.account_id}")
    assert (action, reason) == ("account.credit", "a slow day")
    assert actor.startswith("account:")
    for wrong in ({"usd": "5", "reason": " "}, {"usd": "x", "reason": "y"}, {"reason": "y"}):
        answer = await do(operator, path, **wrong)
        assert (answer.status, "alert-danger" in answer.text) == (422, True)
    assert await town_owner.fetchval(lots, person.account_id) == 1


async def test_support_helps_and_moves_no_money(application: Starlette, people: People, person: Person) -> None:
    support = await staff_browser(application, people, Role.SUPPORT)
    page = await support.get(f"/staff/customers/{person.account_id}")
    assert "/read-as" in page.text
    assert "/credit" not in page.text
    assert (await support.get(f"/staff/customers/{person.account_id}/credit")).status == 403
    assert (await do(support, f"/staff/customers/{person.account_id}/end-sessions", reason="they called")).status == 303


async def test_an_account_is_moved_restricted_freed_disabled_and_enabled(
    operator: Browser, person: Person, town_owner: asyncpg.Connection
) -> None:
    here, subject = f"/staff/customers/{person.account_id}", f"account:{person.account_id}"
    assert (await do(operator, f"{here}/group", group="standard", reason="as it was")).status == 303
    assert (await do(operator, f"{here}/restrict", hours="3", reason="floods us")).status == 303
    assert (await last_act(town_owner, subject))[0::2] == ("account.restrict", "floods us")
    shown = await operator.get(here)
    assert "Restricted until" in shown.text
    assert "/lift-restriction" in shown.text
    assert '/restrict"' not in shown.text
    assert f"/staff/restrictions/{person.account_id}" in shown.text
    for page in (f"/staff/restrictions/{person.account_id}", "/staff/restrictions"):
        told = in_words((await operator.get(page)).text)
        assert ": floods us" in told
        assert "0 s of 0 s" not in told
    again = await do(operator, f"{here}/restrict", hours="3", reason="floods us")
    assert (again.status, "restricted already" in again.text) == (422, True)
    assert (await do(operator, f"{here}/lift-restriction", reason="they stopped")).status == 303
    assert "Restricted until" not in (await operator.get(here)).text
    assert (await do(operator, f"{here}/disable", reason="not theirs")).status == 303
    assert "This account is disabled" in (await operator.get(here)).text
    assert (await do(operator, f"{here}/enable", reason="theirs after all")).status == 303
    assert (await last_act(town_owner, subject))[0::2] == ("account.enable", "theirs after all")
    for name in ("end-sessions", "unlock", "reset-password"):
        assert (await do(operator, f"{here}/{name}", reason=" ")).status == 422
        assert (await do(operator, f"{here}/{name}", reason="they called")).goes_to == f"{here}?done=done", name


async def test_keys_are_paused_resumed_and_revoked_under_their_own_account_only(
    operator: Browser, people: People, person: Person, key_holder: Customer, town_owner: asyncpg.Connection
) -> None:
    here = f"/staff/customers/{person.account_id}"
    for name, column in (("pause", "paused_at"), ("revoke", "revoked_at")):
        done = await do(operator, f"{here}/keys/{key_holder.key_id}/{name}", reason="it leaked")
        assert done.goes_to == f"{here}?done=done"
        assert (await last_act(town_owner, f"key:{key_holder.key_id}"))[0::2] == (f"key.{name}", "it leaked")
        assert await town_owner.fetchval(f"select {column} from api_key where id = $1", key_holder.key_id)  # noqa: S608
        if name == "pause":
            assert (await do(operator, f"{here}/keys/{key_holder.key_id}/resume", reason="they called")).status == 303
    other = await people.a_person()
    assert (await operator.get(f"/staff/customers/{other.account_id}/keys/{key_holder.key_id}/revoke")).status == 404


async def test_a_lot_is_extended_and_taken_back(
    operator: Browser, person: Person, townsfolk: Customers, town_owner: asyncpg.Connection
) -> None:
    await townsfolk.credit(person.account_id, "10")
    here = f"/staff/customers/{person.account_id}"
    lot = await town_owner.fetchval("select id from lot where account_id = $1", person.account_id)
    assert (await do(operator, f"{here}/lots/{lot}/extend", until="2031-01-01", reason="a promise")).status == 303
    until = await town_owner.fetchval("select expires_at from lot where id = $1", lot)
    assert until.isoformat() == "2031-01-01T00:00:00+00:00"
    early = await do(operator, f"{here}/lots/{lot}/extend", until="not a day", reason="a promise")
    assert early.status == 422
    assert (await do(operator, f"{here}/lots/{lot}/revoke", reason="by mistake")).status == 303
    assert await town_owner.fetchval("select remaining from lot where id = $1", lot) == 0
    assert (await last_act(town_owner, f"lot:{lot}"))[0::2] == ("lot.revoke", "by mistake")
    assert "Lot taken back" in (await operator.get(here)).text


def test_what_has_no_words_of_its_own_is_told_by_its_name() -> None:
    assert "account.credit" in HAPPENED
    row = TimelineRow(
        at=None,  # type: ignore[arg-type]
        what="key.never_heard",
        by="worker",
        subject="key:7",
        amount=None,
        detail={
            "ok": True,
            "until": "2026-11-17T19:00:00.123+00:00",
            "names": ["a", "b"],
            "of": {"x": 1},
            "none": None,
        },
    )
    told = happened(row)
    assert (told.words, told.subject, told.href) == ("key: never heard", "key 7", "")
    assert told.details == [("ok", "yes"), ("until", "2026-11-17 19:00:00"), ("names", "a, b"), ("of", "x 1")]


@pytest.mark.parametrize(
    ("what", "detail", "words", "href"),
    [
        ("dispute.open", {"call": "0199", "charged": 7}, "Disputed a charge", "/staff/disputes/0199"),
        ("dispute.credit", {"call": "0199"}, "Disputed charge credited", "/staff/disputes/0199"),
        ("dispute.decline", {"call": "0199"}, "Dispute declined", "/staff/disputes/0199"),
        ("login.reset_ask", {"reset": 3}, "Dropping a second factor was asked for", "/staff/resets/3"),
        ("login.reset_confirm", {"reset": 3}, "Second factor dropped by two of staff", "/staff/resets/3"),
        ("login.reset_refuse", {"reset": 3}, "Dropping a second factor was refused", "/staff/resets/3"),
        ("code.redeem", {"top_up": 5}, "Redeemed a code", "/staff/top-ups/5"),
    ],
)
def test_acts_that_have_a_page_of_their_own_lead_there(
    what: str, detail: dict[str, object], words: str, href: str
) -> None:
    row = TimelineRow(at=None, what=what, by="worker", subject="account:7", amount=None, detail=detail)  # type: ignore[arg-type]
    told = happened(row)
    assert (told.words, told.href) == (words, href)


async def test_more_keys_and_lots_than_fit_are_a_page_away(
    operator: Browser, person: Person, townsfolk: Customers, key_holder: Customer, town_owner: asyncpg.Connection
) -> None:
    here = f"/staff/customers/{person.account_id}"
    await townsfolk.credit(person.account_id, "10")
    await townsfolk.credit(person.account_id, "11")
    await town_owner.execute(MORE_KEYS, key_holder.key_id)
    await town_owner.execute(BAN, person.account_id)
    page = await operator.get(here)
    assert f'href="{here}/keys"' in page.text
    assert f"/staff/disputes?account={person.account_id}" in page.text
    assert "/staff/bans?ip=192.0.2.44" in page.text
    keys = await operator.get(f"{here}/keys?limit=20")
    assert (keys.status, keys.text.count("<tr>"), 'rel="next"' in keys.text) == (200, 21, True)
    [following] = re.findall(r'rel="next" href="([^"]*)', keys.text)
    rest = await operator.get(unescape(following))
    assert (rest.text.count("<tr>"), 'rel="next"' in rest.text) == (11, False)
    assert ("key-29" in keys.text, "key-29" in rest.text) == (True, False)
    lots = await operator.get(f"{here}/lots?limit=1")
    assert (lots.text.count("<tr>"), 'rel="next"' in lots.text) == (2, True)
    for name in ("keys", "lots"):
        assert (await operator.get(f"/staff/customers/999999999/{name}")).status == 404
        assert (await operator.get(f"{here}/{name}?after=what")).status == 422
