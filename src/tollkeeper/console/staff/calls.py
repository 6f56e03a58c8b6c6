"""One call by its request id: the receipt with its attempts, or why it was refused. Never what was said."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from starlette.responses import Response

from tollkeeper.console.pages import staff_get
from tollkeeper.console.staff.acting import acted
from tollkeeper.console.visit import Visit
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.core.usage.receipt import SOURCES
from tollkeeper.office.calls import CallView, show_call
from tollkeeper.office.disputes import DisputedCall, DisputeWish, show_dispute
from tollkeeper.office.provider_views import existing_accounts
from tollkeeper.ports import NotOnFile


async def find(visit: Visit) -> Response:
    """A field for the request id; what is typed there leads to the call."""
    asked = visit.query.get("id", "").strip()
    if not asked:
        return visit.page("calls.html", asked="")
    try:
        request_id = UUID(asked)
    except ValueError:
        visit.form.refuse("id", "This is no request id. It reads like 0199c0de-0000-7000-8000-00000000abcd.")
        return visit.page("calls.html", asked=asked[:100])
    return visit.go(f"/staff/calls/{request_id}")


async def show(visit: Visit) -> Response:
    call = await acted(visit, show_call, request_id=visit.request.path_params["request_id"])
    if call is None:
        raise NotOnFile("There is no such call.")
    return visit.page("call.html", dispute=await _dispute(visit, call.request_id), **await call_values(visit, call))


async def _dispute(visit: Visit, request_id: UUID) -> DisputedCall | None:
    try:
        return await show_dispute(visit.desks.office, DisputeWish(request_id=request_id), visit.by)
    except NotOnFile:
        return None


async def call_values(visit: Visit, call: CallView | None) -> Mapping[str, Any]:
    """What the card of a call shows (`call_card`)."""
    receipt = call.receipt if call else None
    took = None
    if call and receipt and call.started_at:
        took = (receipt.settled_at - call.started_at).total_seconds()
    return {
        "call": call,
        "took_seconds": took,
        "counted_by": SOURCES[receipt.usage_source] if receipt else "",
        "existing": await existing_accounts(visit.desks.office) if receipt and receipt.attempts else (),
    }


PAGES = (
    staff_get("/staff/calls", find, Scope.READ),
    staff_get("/staff/calls/{request_id}", show, Scope.READ),
)
