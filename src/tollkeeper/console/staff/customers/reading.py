"""Reading the console as a customer sees it: begun with a reason, stopped at any time, and never acting.

Rules of this file
1. That nothing can be sent meanwhile is seen to in one place, for every page there is (`console/respond.py`).
"""

from starlette.responses import Response

from tollkeeper.accounts.people.reading import begin_reading, end_reading
from tollkeeper.console.pages import Page, Who, staff_get, staff_post
from tollkeeper.console.staff.customers.subjects import look_at_account
from tollkeeper.console.visit import Visit
from tollkeeper.core.people.logins import LoginRefusal
from tollkeeper.core.people.operator_keys import Scope

PATH = "/staff/customers/{account:int}/read-as"


async def ask(visit: Visit) -> Response:
    return visit.page(
        "read_as.html", subject=await look_at_account(visit), account=visit.request.path_params["account"]
    )


async def begin(visit: Visit) -> Response:
    try:
        await begin_reading(
            visit.front_desk, visit.session, visit.request.path_params["account"], visit.form.text("reason")
        )
    except LoginRefusal:
        raise
    except ValueError as refusal:
        visit.form.refuse("reason", str(refusal))
    else:
        return visit.go("/")
    return await ask(visit)


async def stop(visit: Visit) -> Response:
    if visit.reading is None:
        return visit.go("/staff/customers")
    await end_reading(visit.front_desk, visit.session, visit.reading, "stopped")
    return visit.go(f"/staff/customers/{visit.reading.account_id}", done="reading-stopped")


PAGES = (
    staff_get(PATH, ask, Scope.SUPPORT),
    staff_post(PATH, begin, Scope.SUPPORT),
    Page(
        method="POST",
        path="/staff/stop-reading",
        who=Who.STAFF,
        make=stop,
        scope=Scope.READ,
        while_reading=True,
    ),
)
