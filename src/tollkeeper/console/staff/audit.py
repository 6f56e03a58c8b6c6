"""The audit trail: what was done, by whom and why, and whether the chain is whole."""

from starlette.responses import Response

from tollkeeper.console.pages import staff_get
from tollkeeper.console.staff.details import details_of
from tollkeeper.console.staff.list_links import next_page
from tollkeeper.console.visit import Visit
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.audit import AuditWish, list_audit, verify_audit
from tollkeeper.office.lists import BadCursor, Listed
from tollkeeper.office.wishes import NoWish
from tollkeeper.ports.audit import AuditRow

FILTERS = ("actor", "action", "subject")


async def show(visit: Visit) -> Response:
    asked = {name: visit.query.get(name, "").strip()[:100] for name in FILTERS}
    wish = AuditWish(
        actor=asked["actor"],
        action=asked["action"],
        subject=asked["subject"],
        after=visit.query.get("after", "")[:500],
    )
    try:
        page = await list_audit(visit.desks.office, wish, visit.by)
    except BadCursor as problem:
        visit.form.refuse("", str(problem))
        page = Listed[AuditRow]([])
    chain = await verify_audit(visit.desks.office, NoWish(), visit.by) if visit.query.get("chain") else None
    older = next_page(visit, "/staff/audit", page)
    return visit.page("audit.html", rows=page.data, older=older, asked=asked, chain=chain, details_of=details_of)


PAGES = (staff_get("/staff/audit", show, Scope.READ),)
