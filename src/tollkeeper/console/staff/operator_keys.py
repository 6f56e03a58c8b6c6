"""Operator keys: which there are, a new one, shown once, and the end of one."""

from starlette.responses import Response

from tollkeeper.console.pages import staff_get, staff_post
from tollkeeper.console.staff.acting import acted
from tollkeeper.console.staff.deeds import DeedSubject, StaffDeed, pages_of
from tollkeeper.console.visit import Visit
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.operator_keys import DAYS_MOST, create_operator_key, list_operator_keys, revoke_operator_key
from tollkeeper.office.wishes import NoWish
from tollkeeper.ports import NotOnFile

PLACE = "/staff/operator-keys"
SCOPES = {
    Scope.READ: "Look at everything, change nothing",
    Scope.SUPPORT: "Customers: their keys, logins, bans and restrictions",
    Scope.MONEY: "Credits, refunds, withdrawals and codes",
    Scope.CATALOG: "Models, prices, groups and provider accounts",
    Scope.EVERYTHING: "All of this, and making further operator keys",
}


async def show_all(visit: Visit) -> Response:
    found = await list_operator_keys(visit.desks.office, NoWish(), visit.by)
    return visit.page("operator_keys.html", keys=found.data, now=visit.desks.now())


async def ask_for_new(visit: Visit) -> Response:
    return visit.page(
        "operator_key_new.html", scopes=SCOPES, chosen=visit.form.every("scopes") or [Scope.READ], days_most=DAYS_MOST
    )


async def make(visit: Visit) -> Response:
    """The answer to the form itself has the key: it is shown nowhere else."""
    networks = visit.form.text("only_networks").replace(",", " ").split() or None
    made = await acted(visit, create_operator_key, scopes=visit.form.every("scopes"), only_networks=networks)
    return await ask_for_new(visit) if made is None else visit.page("operator_key_made.html", made=made)


async def look_at_operator_key(visit: Visit) -> DeedSubject:
    name = visit.request.path_params["name"]
    found = await list_operator_keys(visit.desks.office, NoWish(), visit.by)
    # One that is live stands before one of the same name that ended.
    key = next((each for each in found.data if each.name == name), None)
    if key is None:
        raise NotOnFile("There is no such operator key.")
    facts = (
        ("Looks like", key.hint),
        ("Scopes", ", ".join(key.scopes)),
        ("Made by", key.created_by),
        ("Used last", f"{key.last_used_at:%Y-%m-%d %H:%M} UTC" if key.last_used_at else "never"),
    )
    return DeedSubject(name=key.name, facts=facts, hindrance="It is revoked." if key.revoked_at else "")


DEEDS = (
    StaffDeed(
        path=f"{PLACE}/{{name}}/revoke",
        act=revoke_operator_key,
        look=look_at_operator_key,
        title="Revoke an operator key",
        words="Whatever uses it is refused from now on. This cannot be undone: make another.",
        button="Revoke it",
        back=PLACE,
        done="operator-key-revoked",
        is_grave=True,
    ),
)
PAGES = (
    staff_get(PLACE, show_all, Scope.EVERYTHING),
    staff_get(f"{PLACE}/new", ask_for_new, Scope.EVERYTHING),
    staff_post(f"{PLACE}/new", make, Scope.EVERYTHING),
    *pages_of(DEEDS),
)
