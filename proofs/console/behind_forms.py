"""Pages that no address alone shows: behind a form, a mail's link or an answer; and some in Chinese."""

from collections.abc import Iterator

import pyotp
from playwright.sync_api import Browser

from proofs.console.journeys.chat import ask
from proofs.rig.console.place import BILLING_HOST, Person, Place
from proofs.rig.console.visitor import Visitor

CHINESE = ("/", "/usage", "/keys/new", "/prices", "/statements", "/security", "/no-such-page")
OpenPage = tuple[Visitor, str]


def behind_forms(browser: Browser, place: Place) -> Iterator[OpenPage]:
    """Whoever has each page open, and what it is; the page stays open until the next one is asked for."""
    stranger = Visitor(browser, place, reduced_motion="reduce")
    yield from _at_the_door(stranger)
    person = place.a_person()
    owner = Visitor(browser, place, person.ip, reduced_motion="reduce")
    owner.sign_in(person)
    yield from _with_quota(owner)
    yield from _balance(stranger, _key_made(owner))
    yield from _with_an_app(owner, person)
    yield from _another_email(owner, place.a_person())
    stranger.close()
    owner.close()
    reader = place.a_person()
    chinese = Visitor(browser, place, reader.ip, locale="zh-CN", reduced_motion="reduce")
    chinese.sign_in(reader)
    for path in CHINESE:
        chinese.go(path)
        yield chinese, "Chinese"
    chinese.close()


def _at_the_door(visitor: Visitor) -> Iterator[OpenPage]:
    visitor.go("/sign-in")
    assert visitor.send("/sign-in", email="nobody@people.example", password="nothing of the kind") == 422  # noqa: S106
    yield visitor, "refused"
    email = visitor.place.new_email()
    visitor.go("/sign-up")
    visitor.send("/sign-up", email=email, name="Grace")
    visitor.page.goto(visitor.place.link_to(email, "/verify"))
    yield visitor, "with its token"


def _with_quota(visitor: Visitor) -> Iterator[OpenPage]:
    visitor.go("/faucet")
    assert visitor.send("/faucet") == 200
    yield visitor, "issued"
    visitor.go("/keys/new")
    assert visitor.send("/keys/new", name="a key", quota="lots") == 422
    yield visitor, "with an error beside its field"
    assert visitor.send("/keys/new", quota="2") == 200
    yield visitor, "issued"
    visitor.go("/chat")
    visitor.page.locator("select#model").select_option("gpt-4o")
    answer = ask(visitor, "Hello **you** [[tokens=30]]")
    answer.locator(".turn-cost").wait_for(state="visible")
    yield visitor, "with turns"


def _key_made(visitor: Visitor) -> str:
    visitor.go("/keys/new")
    assert visitor.send("/keys/new", name="for a balance") == 200
    return visitor.one(".copied-from")


def _balance(stranger: Visitor, key: str) -> Iterator[OpenPage]:
    stranger.page.goto(f"http://{BILLING_HOST}:{stranger.place.node.port}/balance")
    stranger.send("/en/balance", api_key=key)
    yield stranger, "of a key"


def _with_an_app(visitor: Visitor, person: Person) -> Iterator[OpenPage]:
    visitor.go("/security/second-factor")
    visitor.send("/security/second-factor", password=person.password)
    yield visitor, "an app"
    secret = visitor.one("main p code").replace(" ", "")
    visitor.send("/security/second-factor/confirm", code=pyotp.TOTP(secret).now())
    yield visitor, "recovery codes"
    visitor.send("/sign-out")
    visitor.send("/sign-in", email=person.email, password=person.password)
    yield visitor, "asks for a code"


def _another_email(visitor: Visitor, person: Person) -> Iterator[OpenPage]:
    visitor.sign_in(person)
    new = visitor.place.new_email()
    visitor.go("/security/email")
    visitor.send("/security/email", email=new, password=person.password)
    visitor.page.goto(visitor.place.link_to(new, "/security/email/confirm"))
    yield visitor, "with its token"
