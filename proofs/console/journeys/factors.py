"""Journeys of whoever guards an account: second factors, sessions, passwords."""

from playwright.sync_api import Browser

from proofs.rig.console.place import MAIL_SECONDS, NOT_THE_PASSWORD, Place
from proofs.rig.console.second_factor import next_code, set_up_an_app
from proofs.rig.console.visitor import Visitor
from proofs.rig.patience import came_true


def an_app_and_a_recovery_code(browser: Browser, place: Place) -> None:
    person = place.a_person()
    visitor = Visitor(browser, place, person.ip)
    visitor.sign_in(person)
    secret, recovery = set_up_an_app(visitor, person)

    visitor.send("/sign-out")
    visitor.send("/sign-in", email=person.email, password=person.password)
    assert visitor.send("/sign-in/code", code="000000") == 422
    visitor.send("/sign-in/code", code=next_code(secret))
    assert visitor.path == "/"

    visitor.send("/sign-out")
    visitor.send("/sign-in", email=person.email, password=person.password)
    visitor.send("/sign-in/code", code=recovery[0])
    assert visitor.path == "/"
    visitor.send("/sign-out")
    visitor.send("/sign-in", email=person.email, password=person.password)
    assert visitor.send("/sign-in/code", code=recovery[0]) == 422, "a recovery code was good twice"
    visitor.send("/sign-in/code", code=recovery[1])

    visitor.go("/security/second-factor")
    visitor.send("/security/second-factor/off", code=recovery[2])
    assert visitor.path == "/security"
    assert visitor.says("Your second factor is off.")
    visitor.send("/sign-out")
    visitor.sign_in(person)
    assert visitor.complaints == []
    visitor.close()


def sessions_password_and_email(browser: Browser, place: Place) -> None:
    person, chosen = place.a_person(), "a changed horse battery"
    here, there, third = (Visitor(browser, place) for _ in range(3))
    for each in (here, there, third):
        each.sign_in(person)
    here.go("/security")
    rows = here.page.locator(".session-row")
    assert rows.count() == 3
    assert rows.filter(has_text="this one").count() == 1
    # The newest comes first.
    rows.filter(has_not_text="this one").first.locator("button").click()
    assert here.says("That session is over.")
    assert here.page.locator(".session-row").count() == 2
    third.go("/")
    assert third.path == "/sign-in"

    assert here.send("/security/password", old_password=NOT_THE_PASSWORD, new_password=chosen) == 422
    here.send("/security/password", old_password=person.password, new_password=chosen)
    assert here.says("Your password is changed.")
    there.go("/")
    assert there.path == "/sign-in", "a session outlived the password"
    assert there.send("/sign-in", email=person.email, password=person.password) == 422
    there.send("/sign-in", email=person.email, password=chosen)
    assert there.path == "/"
    email = another_email(here, person.email, chosen)
    there.go("/")
    assert there.path == "/sign-in", "a session outlived the e-mail"
    assert there.send("/sign-in", email=person.email, password=chosen) == 422
    there.send("/sign-in", email=email, password=chosen)
    assert there.path == "/"
    here.go("/security")
    here.send("/security/sessions/end-all")
    assert here.path == "/sign-in"
    there.go("/")
    assert there.path == "/sign-in"
    assert here.complaints + there.complaints + third.complaints == []
    for each in (here, there, third):
        each.close()


def another_email(visitor: Visitor, old: str, password: str) -> str:
    """Asked for with the password, told to the old one, taken by the link to the new one."""
    place, new = visitor.place, visitor.place.new_email()
    told = len(place.mailbox.to(old))
    visitor.go("/security/email")
    assert visitor.send("/security/email", email=new, password=NOT_THE_PASSWORD) == 422
    visitor.send("/security/email", email=new, password=password)
    assert visitor.path == "/security/email/sent"
    visitor.page.goto(place.link_to(new, "/security/email/confirm"))
    visitor.send("/security/email/confirm")
    assert visitor.path == "/security"
    assert new in visitor.text
    assert came_true(lambda: len(place.mailbox.to(old)) > told, within_seconds=MAIL_SECONDS), "the old one is not told"
    return new
