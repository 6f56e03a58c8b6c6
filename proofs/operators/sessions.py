"""Sessions of every kind of visitor, made as signing in makes them."""

from datetime import UTC, datetime
from enum import StrEnum

import pyotp

from proofs.operators.staff import staff_person
from proofs.rig.console.place import Person, Place
from tollkeeper.accounts.people.front_desk import RequestOrigin
from tollkeeper.accounts.people.second_factor import confirm_second_factor, propose_second_factor
from tollkeeper.accounts.people.sessions import session_setting_up
from tollkeeper.accounts.people.sign_in import Credentials, sign_in
from tollkeeper.core.people.logins import Role
from tollkeeper.office.desks import Office


class VisitorKind(StrEnum):
    """Everybody who may come to a page."""

    STRANGER = "stranger"
    CUSTOMER = "customer"
    SUPPORT = "support"
    OPERATOR = "operator"
    # Signed in as an operator, without the second factor that staff must have.
    SETTING_UP = "setting up"

    @property
    def role(self) -> Role:
        return Role.OPERATOR if self is VisitorKind.SETTING_UP else Role(self.value)


def session(place: Place, kind: VisitorKind) -> str:
    """The text of its cookie; empty for strangers."""
    if kind is VisitorKind.STRANGER:
        return ""
    if kind is VisitorKind.CUSTOMER:
        return signed_in(place, place.a_person(name="Cora"))
    person = staff_person(place, kind.role)
    return signed_in(place, person) if kind is VisitorKind.SETTING_UP else with_second_factor(place, person)


def signed_in(place: Place, person: Person) -> str:
    async def enter(desk: Office) -> str:
        given = Credentials(email=person.email, password=person.password)
        return (await sign_in(desk.front_desk, given, RequestOrigin(ip=person.ip, agent="a proof"))).token

    return place.operate(enter)


def with_second_factor(place: Place, person: Person) -> str:
    token = signed_in(place, person)

    async def enrol(desk: Office) -> str:
        found = await session_setting_up(desk.front_desk, token)
        proposal = await propose_second_factor(desk.front_desk, found, person.password)
        code = pyotp.TOTP(proposal.secret).at(datetime.now(UTC))
        return (await confirm_second_factor(desk.front_desk, found, code)).token

    return place.operate(enrol)
