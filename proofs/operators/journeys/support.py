"""Journeys of support: a ban that is lifted, and charges that customers hold to be wrong."""

import http.client
from urllib.parse import urlsplit

from playwright.sync_api import Browser

from proofs.operators.staff import staff_member
from proofs.rig.console.calling import client, in_usage, usd_of
from proofs.rig.console.place import Person, Place
from proofs.rig.console.visitor import Visitor
from proofs.rig.patience import came_true
from tollkeeper.core.people.logins import Role
from tools.node import Node
from tools.services.process import free_port

CALLER_IP = "203.0.113.77"
INVALID_MOST = 20
TOLD_WITHIN_SECONDS = 30.0
BAN = "select id from ban where ip = $1 and lifted_at is null"
WHY_LIFTED = "select detail->>'reason' from audit where action = 'ip.lift_ban' and subject = $1"
LOT = "select granted, account_id from lot where source = 'dispute' and source_id = $1"


def a_ban_with_its_evidence_lifted(browser: Browser, place: Place) -> None:
    """A client that makes too many invalid calls is shut out; support sees why, and lets it in again."""
    strict = place.settings | {"TOLLKEEPER_PORT": str(free_port()), "TOLLKEEPER_INVALID_CALLS": str(INVALID_MOST)}
    with Node(strict) as node:
        assert came_true(lambda: _ask(node) == 403, within_seconds=TOLD_WITHIN_SECONDS), "the flood was not banned"
        _lifted(browser, place)
        assert came_true(lambda: _ask(node) == 401, within_seconds=TOLD_WITHIN_SECONDS), "the client is still shut out"


def _lifted(browser: Browser, place: Place) -> None:
    visitor = staff_member(browser, place, Role.SUPPORT)
    visitor.page.get_by_role("link", name="Bans").first.click()
    visitor.page.wait_for_url("**/staff/bans")
    with visitor.another_page():
        visitor.page.get_by_role("link", name=CALLER_IP).click()
    assert visitor.says("invalid calls within 60 s"), visitor.main
    assert visitor.says("invalid_api_key"), visitor.main
    ban = place.value(BAN, CALLER_IP)
    assert visitor.send(f"/staff/bans/{ban}/lift", reason="they mended their program") == 200
    assert visitor.says("The ban is lifted"), visitor.main
    assert visitor.says("they mended their program"), visitor.main
    acts = place.rows(WHY_LIFTED, f"ip:{CALLER_IP}")
    assert [row[0] for row in acts] == ["they mended their program"]
    assert visitor.complaints == []
    visitor.close()


def disputed_charges_credited(browser: Browser, place: Place) -> None:
    """One that an operator credits with what is filled in already, and one that credits itself."""
    person = place.a_person()
    customer = Visitor(browser, place, person.ip)
    customer.sign_in(person)
    key = _a_key(customer)
    dear, empty = _called(place, key, "Hello [[tokens=40]]"), _called(place, key, "Hello [[tokens=0 usage=no]]")
    for call in (dear, empty):
        in_usage(customer, call)
    _credits_itself(customer, place, person, empty)
    customer.go(f"/usage/{dear}")
    customer.page.locator("#dispute summary").click()
    customer.send(f"/usage/{dear}/dispute", kind="too_much", note="Dearer than yesterday")
    assert customer.says("A person looks at this charge"), customer.main
    charged = place.value("select charged from usage where request_id = $1::text::uuid", dear)
    _credited_with_one_click(browser, place, dear)
    [(granted, account)] = place.rows(LOT, dear)
    assert (granted, account) == (charged, person.account_id)
    customer.go(f"/usage/{dear}")
    assert customer.says(f"${usd_of(charged)} came back to you"), customer.main
    mails = "The charge of this call is wrong".lower()
    assert came_true(
        lambda: sum(mails in text.lower() for text in place.mailbox.to(person.email)) == len((dear, empty)),
        within_seconds=TOLD_WITHIN_SECONDS,
    ), "the customer was not told by mail"
    assert customer.complaints == []
    customer.close()


def _credits_itself(customer: Visitor, place: Place, person: Person, call: str) -> None:
    charged = place.value("select charged from usage where request_id = $1::text::uuid", call)
    assert charged > 0
    customer.go(f"/usage/{call}")
    customer.page.locator("#dispute summary").click()
    customer.send(f"/usage/{call}/dispute", kind="nothing_came")
    assert customer.says("nothing was delivered. The charge was credited"), customer.main
    [(granted, account)] = place.rows(LOT, call)
    assert (granted, account) == (charged, person.account_id)


def _credited_with_one_click(browser: Browser, place: Place, call: str) -> None:
    """Amount and reason are filled in."""
    operator = staff_member(browser, place, Role.OPERATOR)
    operator.go("/staff/disputes")
    with operator.another_page():
        operator.page.locator(f'a[href="/staff/disputes/{call}"]').click()
    for evidence in ("Dearer than yesterday", "The provider reported its usage.", "completed"):
        assert operator.says(evidence), operator.main
    with operator.another_page():
        operator.page.get_by_role("button", name="Credit the charge").click()
    assert operator.says("Credited. The customer has it"), operator.main
    assert operator.form(f"/staff/disputes/{call}/credit").count() == 0, "it could be credited again"
    assert operator.complaints == []
    operator.close()


def _a_key(customer: Visitor) -> str:
    customer.go("/keys/new")
    assert customer.send("/keys/new", name="mine") == 200, customer.main
    return customer.one(".copied-from")


def _called(place: Place, key: str, words: str) -> str:
    """The id of a call that was answered."""
    raw = client(place, key).chat.completions.with_raw_response.create(
        model="gpt-4o", messages=[{"role": "user", "content": words}]
    )
    return raw.headers["x-request-id"]


def _ask(node: Node) -> int:
    """The status of a call with a wrong key."""
    connection = http.client.HTTPConnection(urlsplit(node.base).netloc, timeout=30)
    try:
        headers = {"Authorization": f"Bearer sk-a{'wrong' * 9}", "X-Forwarded-For": CALLER_IP}
        connection.request("GET", "/v1/models", headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()
