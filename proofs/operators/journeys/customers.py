"""Journeys of whoever helps customers: found and credited, read as, refunded, paid."""

import re

from playwright.sync_api import Browser

from proofs.operators.staff import staff_member
from proofs.rig.console.calling import called
from proofs.rig.console.place import Person, Place
from proofs.rig.console.visitor import Visitor
from tollkeeper.accounts.keys import KeyWish, create_key
from tollkeeper.console.pages import Page
from tollkeeper.console.staff.table import STAFF
from tollkeeper.console.table import PAGES
from tollkeeper.core.people.logins import Role
from tollkeeper.office.desks import Office

ACTS = "select action, actor, detail::jsonb ->> 'reason' as reason from audit where subject = $1 order by id"
# Everything that a page could change, of one account.
THINGS = ("account", "login", "api_key", "lot", "notice_choice", "passkey", "withdrawal", "top_up", "session")
ASKED = "insert into withdrawal (account_id, usd_micros, payee) values ($1, 2500000, 'Ada, Bank of Ada') returning id"
# As pages that send by script do it, with the token of the form that is open.
POSTED = """
async ([path, token]) => {
    const body = new URLSearchParams({form_token: token, reason: "a try", form_id: "x"});
    const answer = await fetch(path, {method: "POST", body, redirect: "manual"});
    return [answer.status, await answer.text()];
}
"""


def a_customer_found_read_and_credited(browser: Browser, place: Place) -> None:
    person = place.a_person(name="Ada Lovelace")
    key = _a_key(place, person)
    call = called(place, key)
    place.a_person(name="Grace Hopper")
    own = Visitor(browser, place, person.ip)
    own.sign_in(person)
    visitor = staff_member(browser, place, Role.OPERATOR)
    here = f"/staff/customers/{person.account_id}"
    found = dict.fromkeys(("lovelace", person.email, str(person.account_id), f"{key[:4]}…{key[-4:]}"), here)
    # A call leads to its customer.
    found = {str(call.request_id): f"/staff/calls/{call.request_id}", **found}
    for text, place_found in found.items():
        visitor.go("/staff")
        with visitor.another_page():
            visitor.page.locator("#find-anything").fill(text)
            visitor.page.locator("#find-anything").press("Enter")
        assert visitor.path == place_found, (text, visitor.main)
    story = visitor.one("#timeline")
    for words in ("Key made", "Signed in", "Credited", "$10.00"):
        assert words in story, story
    visitor.page.get_by_role("link", name="Credit", exact=True).click()
    visitor.page.wait_for_url(f"**{here}/credit")
    assert visitor.send(f"{here}/credit", usd="2.50", reason="a slow afternoon") == 200
    assert visitor.path == here
    assert visitor.says("Credited. The lot stands below")
    newest = visitor.page.locator("#timeline li").first.inner_text()
    for words in ("Credited", "$2.50", "a slow afternoon", "by account:"):
        assert words in newest, newest
    assert ("account.credit", "a slow afternoon") in [
        (row["action"], row["reason"]) for row in place.rows(ACTS, f"account:{person.account_id}")
    ]
    own.go("/")
    assert "$12.4" in own.text or "$12.5" in own.text, own.text
    assert visitor.complaints + own.complaints == []


def _a_key(place: Place, person: Person) -> str:
    async def make(desk: Office) -> str:
        wish = KeyWish(account_id=person.account_id, name="laptop")
        return (await create_key(wish, desk.key_maker, desk.keys, actor="proof")).key

    return place.operate(make)


def reading_as_refuses_every_act(browser: Browser, place: Place) -> None:
    person = place.a_person(name="Ada Lovelace")
    key = _a_key(place, person)
    visitor = staff_member(browser, place, Role.SUPPORT)
    here = f"/staff/customers/{person.account_id}"
    visitor.go(here)
    visitor.page.get_by_role("link", name="Read as this customer").click()
    visitor.page.wait_for_url(f"**{here}/read-as")
    visitor.send(f"{here}/read-as", reason="asks about a charge")
    assert visitor.path == "/"
    banner = f"You read as Ada Lovelace, account {person.account_id}. Nothing can be changed."
    assert banner in visitor.text, visitor.text
    before = _things(place, person)
    for page in (page for page in PAGES if page.method == "GET" and "{" not in page.path and "csv" not in page.path):
        visitor.go(page.path)
        assert "You read as Ada Lovelace" in visitor.text, page.path
    visitor.go("/keys")
    assert key[-4:] in visitor.text
    assert key not in visitor.page.content()
    visitor.go("/chat")
    assert not visitor.page.locator("#composer").is_visible()
    _every_form_is_refused(place, visitor, person)
    assert _things(place, person) == before
    visitor.go("/usage")
    with visitor.another_page():
        visitor.page.get_by_role("button", name="Stop reading").click()
    assert visitor.path == here
    assert visitor.says("You read as yourself again")
    told = [row["action"] for row in place.rows(ACTS, f"account:{person.account_id}")][-2:]
    assert told == ["account.read_as", "account.read_as_end"], told
    assert visitor.complaints == []


def _every_form_is_refused(place: Place, visitor: Visitor, person: Person) -> None:
    key_id = place.value("select max(id) from api_key where account_id = $1", person.account_id)
    for page in (page for page in (*PAGES, *STAFF) if page.method == "POST" and not page.while_reading):
        visitor.go("/keys")
        token = visitor.page.locator('[name="form_token"]').first.input_value()
        status, text = visitor.page.evaluate(POSTED, [_path(page, person.account_id, key_id), token])
        assert status == 403, (page.path, status)
        assert "nothing can be changed meanwhile" in text, page.path


def _path(page: Page, account: int, key: int) -> str:
    path = re.sub(r"\{key\w*:int\}", str(key), page.path)
    return re.sub(r"\{\w+(:\w+)?\}", "1", path.replace("{account:int}", str(account)))


def _things(place: Place, person: Person) -> list[object]:
    rows: list[object] = []
    for thing in THINGS:
        column = "id" if thing == "account" else "account_id"
        rows.append(place.rows(f"select t::text from {thing} t where {column} = $1 order by 1", person.account_id))  # noqa: S608
    return rows


def a_refund(browser: Browser, place: Place) -> None:
    person = place.a_person(usd=0, name="Ada Lovelace")
    [code] = place.codes(1, 20)
    own = Visitor(browser, place, person.ip)
    own.sign_in(person)
    own.go("/top-up")
    own.send("/top-up", code=code)
    top_up = place.value("select id from top_up where account_id = $1", person.account_id)
    visitor = staff_member(browser, place, Role.OPERATOR)
    visitor.go("/staff/top-ups")
    visitor.page.get_by_role("link", name=f"Top-up {top_up}", exact=True).click()
    visitor.page.wait_for_url(f"**/staff/top-ups/{top_up}")
    visitor.page.get_by_role("link", name="Refund it").click()
    path = f"/staff/top-ups/{top_up}/refund"
    visitor.page.wait_for_url(f"**{path}")
    assert visitor.send(path, reason="the card was charged back") == 200
    assert visitor.path == f"/staff/top-ups/{top_up}"
    for words in ("Refunded", "the card was charged back", "$20.00"):
        assert visitor.says(words), visitor.main
    # The form that was sent is over: going back and sending it again moves nothing.
    visitor.go(path)
    assert visitor.says("It was refunded before")
    assert place.value("select count(*) from audit where subject = $1", f"top_up:{top_up}") == 1
    own.go("/")
    assert "$20.00" not in own.one(".wallet")
    assert visitor.complaints + own.complaints == []


def a_withdrawal_by_two_people(browser: Browser, place: Place) -> None:
    friend, person = place.a_person(usd=0, name="Grace Hopper"), place.a_person(usd=0, name="Ada Lovelace")
    gift_code = place.value("select gift_code from account where id = $1", person.account_id)
    place.rows("select accept_invitation($1, $2, 'proof')", friend.account_id, gift_code)
    [code] = place.codes(1, 100)
    own = Visitor(browser, place, friend.ip)
    own.sign_in(friend)
    own.go("/top-up")
    own.send("/top-up", code=code)
    place.rows("update reward set available_at = granted_at where account_id = $1", person.account_id)
    number = place.value(ASKED, person.account_id)
    here = f"/staff/withdrawals/{number}"
    anna, boris = (staff_member(browser, place, Role.OPERATOR) for _ in range(2))
    anna.go("/staff/withdrawals")
    anna.page.get_by_role("link", name=f"Withdrawal {number}", exact=True).click()
    anna.page.wait_for_url(f"**{here}")
    anna.page.get_by_role("link", name="Approve it").click()
    anna.page.wait_for_url(f"**{here}/approve")
    anna.send(f"{here}/approve", reason="known to us")
    assert anna.says("You approved it, or it was approved by a key")
    anna.go(f"{here}/pay")
    assert anna.says("Somebody else notes it as paid"), anna.main
    assert anna.form(f"{here}/pay").count() == 0
    boris.go(here)
    boris.page.get_by_role("link", name="Note it as paid").click()
    boris.page.wait_for_url(f"**{here}/pay")
    assert boris.send(f"{here}/pay", reason="transfer 4711") == 200
    assert boris.says("transfer 4711")
    told = place.rows("select state, approved_by, decided_by from withdrawal where id = $1", number)[0]
    assert told["state"] == "paid"
    assert told["approved_by"] != told["decided_by"]
    boris.go("/staff/withdrawals")
    assert not boris.says(f"Withdrawal {number}")
    assert anna.complaints + boris.complaints + own.complaints == []
