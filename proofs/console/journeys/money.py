"""Journeys with money that others bring: a coming price, an invitation that pays, the faucet."""

from datetime import timedelta
from decimal import Decimal

from playwright.sync_api import Browser

from proofs.console.journeys.way_in import sign_up
from proofs.rig.console.calling import called
from proofs.rig.console.place import Person, Place
from proofs.rig.console.second_factor import next_code, set_up_an_app
from proofs.rig.console.visitor import Visitor
from proofs.rig.patience import came_true
from tollkeeper.accounts.prices import PriceWish, enter_price_change
from tollkeeper.office.desks import Office
from tollkeeper.ports.catalog.prices import NewFigures

SOON_SECONDS = 5.0
LATER = timedelta(days=90)
NOTICE = timedelta(days=3)


async def announce(desk: Office) -> None:
    """As `tollkeeper price enter` does."""
    wish = PriceWish(model_id="gpt-4o-mini", figures=NewFigures(model=Decimal("0.1")))
    await enter_price_change(wish, NOTICE, desk.prices, actor="proof")


def a_coming_price(browser: Browser, place: Place) -> None:
    person = place.a_person()
    visitor = Visitor(browser, place, person.ip)
    visitor.sign_in(person)
    visitor.go("/prices")
    assert not visitor.says("Coming changes")
    place.operate(announce)

    def is_announced() -> bool:
        visitor.go("/prices")
        return visitor.says("Coming changes")

    assert came_true(is_announced, within_seconds=SOON_SECONDS)
    coming = visitor.one("section[aria-labelledby=coming-title] tbody tr")
    # A million tokens at 0.075, and at 0.1, quota tokens each, of which 500,000 are a dollar; and four times as much.
    for figure in ("gpt-4o-mini", "$0.15", "$0.20", "$0.60", "$0.80"):
        assert figure in coming, coming
    visitor.send("/prices", q="4o-mini")
    assert visitor.page.locator("section[aria-labelledby=chat-title] tbody tr").count() == 1
    assert "$0.15" in visitor.one("section[aria-labelledby=chat-title] tbody")
    visitor.page.locator("section[aria-labelledby=chat-title] a").click()
    visitor.page.wait_for_url("**/prices/gpt-4o-mini")
    assert visitor.says("to come")
    assert visitor.says("now")
    assert visitor.complaints == []
    visitor.close()


def an_invitation_that_pays(browser: Browser, place: Place) -> None:
    person = place.a_person()
    inviter = Visitor(browser, place, person.ip)
    inviter.sign_in(person)
    secret, _ = set_up_an_app(inviter, person)
    inviter.go("/partner")
    link = inviter.page.locator(".copied-from").first.inner_text()
    assert link.startswith(place.url)

    friend = Visitor(browser, place)
    invited = sign_up(friend, email=place.new_email(), invite=link)
    friend.send("/sign-in", email=invited.email, password=invited.password)
    [code] = place.codes(1, 100)
    friend.go("/top-up")
    friend.send("/top-up", code=code)
    assert friend.says("$100.00")

    inviter.go("/partner")
    assert "1 account was opened by your invite" in inviter.text
    micros: int = place.value("select amount from reward where account_id = $1", person.account_id)
    earned = f"${micros / 1_000_000:,.2f}"
    assert earned in inviter.page.locator(".figure").nth(1).inner_text(), "it waits"
    assert inviter.send("/partner", amount="1", payee="Bank of Ada", code=next_code(secret)) == 422
    pass_time(place, person)
    inviter.go("/partner")
    assert earned in inviter.page.locator(".figure").nth(0).inner_text(), "it can be withdrawn"
    assert inviter.send("/partner", amount="1000", payee="Bank of Ada", code=next_code(secret)) == 422
    pass_time(place, person)
    inviter.send("/partner", amount="1", payee="Bank of Ada", code=next_code(secret))
    assert inviter.says("Your withdrawal is asked for.")
    assert inviter.says("waits for us")
    assert inviter.says("Bank of Ada")
    assert inviter.complaints + friend.complaints == []
    inviter.close()
    friend.close()


def pass_time(place: Place, person: Person) -> None:
    """Months pass for one account: its rewards can be withdrawn, its second factor is old, its codes are fresh ones."""
    place.rows(
        "update reward set granted_at = granted_at - $2::interval, available_at = granted_at - $2::interval"
        " where account_id = $1",
        person.account_id,
        LATER,
    )
    place.rows(
        "update login set totp_confirmed_at = totp_confirmed_at - $2::interval, totp_last_step = 0"
        " where account_id = $1",
        person.account_id,
        LATER,
    )


def the_faucet(browser: Browser, place: Place) -> None:
    person = place.a_person(usd=0)
    visitor = Visitor(browser, place, person.ip)
    visitor.sign_in(person)
    visitor.go("/faucet")
    assert visitor.send("/faucet") == 200
    key = visitor.one(".copied-from")
    call = called(place, key)
    assert call.output_tokens == 5
    visitor.go("/faucet")
    assert visitor.send("/faucet") == 429
    assert visitor.says("once in 24 hours")
    visitor.go("/keys")
    assert visitor.page.locator(".keys-table tbody tr").count() == 1
    assert visitor.complaints == []
    visitor.close()
