"""Staff at a browser: a person with a role and a second factor, as pages of staff ask for it."""

from typing import Any

from playwright.sync_api import Browser

from proofs.rig.console.place import Person, Place
from proofs.rig.console.second_factor import set_up_an_app
from proofs.rig.console.visitor import Visitor
from tollkeeper.accounts.people.staff import set_role
from tollkeeper.core.people.logins import Role
from tollkeeper.office.desks import Office


def staff_person(place: Place, role: Role, name: str = "Anna") -> Person:
    """With a login of this role, and no second factor yet."""
    person = place.a_person(usd=0, name=name)

    async def give(desk: Office) -> None:
        await set_role(desk.front_desk, person.account_id, role, by=desk.operator)

    place.operate(give)
    return person


def staff_member(browser: Browser, place: Place, role: Role, **ways: Any) -> Visitor:
    """Signed in with a second factor. `ways`: what the browser is like, as Playwright names it."""
    person = staff_person(place, role)
    visitor = Visitor(browser, place, person.ip, **ways)
    visitor.go("/sign-in")
    visitor.send("/sign-in", email=person.email, password=person.password)
    set_up_an_app(visitor, person)
    assert visitor.go("/staff") == 200, visitor.text
    return visitor
