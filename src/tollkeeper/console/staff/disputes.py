"""Charges that customers hold to be wrong: a list of those that wait, and one with its evidence and both answers."""

from starlette.responses import Response

from tollkeeper.console.pages import staff_get, staff_post
from tollkeeper.console.staff.acting import acted
from tollkeeper.console.staff.calls import call_values
from tollkeeper.console.staff.list_links import has_scope, next_page
from tollkeeper.console.usage.receipt import WRONGS
from tollkeeper.console.visit import Visit
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.disputes import credit_disputed_call, decline_disputed_call, list_disputes, show_dispute
from tollkeeper.ports import NotOnFile


async def show_list(visit: Visit) -> Response:
    page = await acted(visit, list_disputes)
    asked = {name: visit.query.get(name, "").strip()[:40] for name in ("account", "all")}
    older = next_page(visit, "/staff/disputes", page)
    return visit.page("disputes.html", rows=page.data if page else [], older=older, asked=asked, wrongs=WRONGS)


async def show_one(visit: Visit) -> Response:
    found = await acted(visit, show_dispute, request_id=visit.request.path_params["request_id"])
    if found is None:
        raise NotOnFile("This charge is not disputed.")
    return visit.page(
        "dispute.html",
        dispute=found.dispute,
        proposed=found.proposed_reason,
        wrongs=WRONGS,
        may_credit=has_scope(visit, Scope.MONEY),
        **await call_values(visit, found.call),
    )


async def credit(visit: Visit) -> Response:
    request_id = visit.request.path_params["request_id"]
    done = await acted(visit, credit_disputed_call, request_id=request_id)
    if done is None:
        return await show_one(visit)
    return visit.go(f"/staff/disputes/{request_id}", done="credited-before" if done.was_before else "dispute-paid")


async def decline(visit: Visit) -> Response:
    request_id = visit.request.path_params["request_id"]
    done = await acted(visit, decline_disputed_call, request_id=request_id)
    return await show_one(visit) if done is None else visit.go(f"/staff/disputes/{request_id}", done="dispute-declined")


PAGES = (
    staff_get("/staff/disputes", show_list, Scope.READ),
    staff_get("/staff/disputes/{request_id}", show_one, Scope.READ),
    staff_get("/staff/disputes/{request_id}/credit", show_one, Scope.MONEY),
    staff_post("/staff/disputes/{request_id}/credit", credit, Scope.MONEY, once=True),
    staff_post("/staff/disputes/{request_id}/decline", decline, Scope.SUPPORT),
)
