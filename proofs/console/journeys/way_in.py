"""Journeys through the door: from nothing to the first call, signing in and out, and a new password."""

from decimal import Decimal

from playwright.sync_api import Browser

from proofs.rig.console.calling import called, in_usage, usd_of
from proofs.rig.console.place import NOT_THE_PASSWORD, PASSWORD, Person, Place
from proofs.rig.console.visitor import Visitor

ATTEMPTS_BEFORE_LOCK = 5


def sign_up(visitor: Visitor, *, email: str, invite: str = "") -> Person:
    """By the form, the mail, and its link; as far as the page to sign in on."""
    place = visitor.place
    if not invite:
        visitor.go("/sign-up")
    else:
        visitor.page.goto(invite)
        assert visitor.page.locator('[name="invite"]').input_value() == invite.rpartition("/")[2]
    visitor.send("/sign-up", email=email, name="Grace")
    assert visitor.path == "/sign-up/sent"
    visitor.page.goto(place.link_to(email, "/verify"))
    visitor.send("/verify", new_password=PASSWORD)
    assert visitor.path == "/sign-in"
    account_id = place.value("select account_id from login where email = $1", email)
    ip = place.new_ip()
    return Person(account_id, email, "Grace", ip)


def from_nothing_to_the_first_call(browser: Browser, place: Place) -> None:
    friend = place.a_person(usd=0)
    gift_code = place.value("select gift_code from account where id = $1", friend.account_id)
    [code] = place.codes(1, 20)
    visitor = Visitor(browser, place)
    person = sign_up(visitor, email=place.new_email())
    visitor.send("/sign-in", email=person.email, password=person.password)
    assert "Hello, Grace" in visitor.text
    assert visitor.page.locator("ol.todo li.done").count() == 0

    visitor.go("/top-up")
    visitor.send("/top-up", code=code, gift_code=gift_code)
    assert visitor.path.startswith("/top-up/")
    assert visitor.says("$20.00")
    assert visitor.says("$1.00")

    visitor.go("/keys/new")
    assert visitor.send("/keys/new", name="first") == 200
    key = visitor.one(".copied-from")
    call = called(place, key, words=9)
    line = in_usage(visitor, call.request_id)
    assert line["usd"] == usd_of(call.charge)
    visitor.go(f"/usage/{call.request_id}")
    assert visitor.says(f"${usd_of(call.charge)}")

    visitor.go("/")
    left = Decimal(21) - Decimal(usd_of(call.charge))
    assert f"${left.normalize():f}" in visitor.titles(".wallet .amount span")
    assert visitor.page.locator("ol.todo li.done").count() == 3
    assert visitor.complaints == []
    visitor.close()


def signing_in_locked_out_and_signing_out(browser: Browser, place: Place) -> None:
    person = place.a_person()
    visitor = Visitor(browser, place, person.ip)
    visitor.go("/keys")
    assert visitor.path == "/sign-in"
    for _ in range(ATTEMPTS_BEFORE_LOCK):
        assert visitor.send("/sign-in", email=person.email, password=NOT_THE_PASSWORD) in (422, 429)
    assert visitor.send("/sign-in", email=person.email, password=person.password) == 429
    assert visitor.says("too many attempts") or visitor.says("Too many attempts")

    # Whoever guesses elsewhere locks nobody else out.
    owner = Visitor(browser, place)
    owner.go("/keys")
    owner.send("/sign-in", email=person.email, password=person.password)
    assert owner.path == "/keys"
    owner.send("/sign-out")
    assert owner.path == "/sign-in"
    assert owner.says("You are signed out.")
    owner.go("/keys")
    assert owner.path == "/sign-in"
    assert visitor.complaints + owner.complaints == []
    visitor.close()
    owner.close()


def a_new_password_by_mail(browser: Browser, place: Place) -> None:
    person, chosen = place.a_person(), "another horse battery"
    elsewhere = Visitor(browser, place, person.ip)
    elsewhere.sign_in(person)
    visitor = Visitor(browser, place)
    visitor.go("/forgot")
    visitor.send("/forgot", email=person.email)
    assert visitor.path == "/forgot/sent"
    link = place.link_to(person.email, "/reset")
    visitor.page.goto(link)
    visitor.send("/reset", new_password=chosen)
    assert visitor.path == "/sign-in"
    assert visitor.send("/sign-in", email=person.email, password=person.password) == 422
    visitor.send("/sign-in", email=person.email, password=chosen)
    assert visitor.path == "/"

    elsewhere.go("/keys")
    assert elsewhere.path == "/sign-in", "a session outlived the reset"
    elsewhere.page.goto(link)
    elsewhere.send("/reset", new_password=NOT_THE_PASSWORD)
    assert "does nothing any more" in elsewhere.text
    assert visitor.complaints + elsewhere.complaints == []
    visitor.close()
    elsewhere.close()
