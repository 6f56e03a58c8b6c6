"""The team: whose logins have a role, and giving or taking one."""

from starlette.responses import Response

from tollkeeper.console.pages import staff_get
from tollkeeper.console.staff.acting import acted
from tollkeeper.console.staff.deeds import DeedField, DeedSubject, StaffDeed, pages_of
from tollkeeper.console.staff.list_links import next_page
from tollkeeper.console.visit import Visit
from tollkeeper.core.people.logins import Role
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.logins import list_logins, set_login_role, show_login
from tollkeeper.office.wishes import AccountWish

PLACE = "/staff/team"


async def show_all(visit: Visit) -> Response:
    """Everybody who has a role; with an e-mail, whoever has it, to be given one."""
    page = await acted(visit, list_logins, staff_only=True)
    return visit.page(
        "team.html",
        rows=page.data if page else [],
        older=next_page(visit, PLACE, page),
        email=visit.query.get("email", "").strip()[:254],
        own=visit.session.account_id,
    )


async def look_at_login(visit: Visit) -> DeedSubject:
    wish = AccountWish(account=visit.request.path_params["account"])
    login = await show_login(visit.desks.office, wish, visit.by)
    facts = (
        ("Role now", login.role.value),
        ("Second factor", "on" if login.second_factor else "off: it is set up before the first page of staff"),
        ("Account", f"{login.account}, {login.account_state.value}"),
    )
    # The other two: changing it to what it is changes nothing.
    roles = [role.value for role in Role if role is not login.role]
    return DeedSubject(name=login.email, facts=facts, choices={"role": roles})


DEEDS = (
    StaffDeed(
        path=f"{PLACE}/{{account:int}}/role",
        act=set_login_role,
        look=look_at_login,
        title="Change a role",
        words="Support looks at everything and helps customers; operators may do everything; a customer sees no page "
        "of staff. Their sessions end, and operator keys that belong to the login may do no more than it.",
        button="Change it",
        back=PLACE,
        done="role-changed",
        fields=(DeedField(name="role", label="Role"),),
        is_grave=True,
    ),
)
PAGES = (staff_get(PLACE, show_all, Scope.EVERYTHING), *pages_of(DEEDS))
