"""The house: jobs, nodes, and the settings in force."""

from starlette.responses import Response

from tollkeeper.console.pages import staff_get
from tollkeeper.console.visit import Visit
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.attention import is_late, show_house
from tollkeeper.office.house import list_jobs, list_nodes, list_settings, show_books_verdict
from tollkeeper.office.wishes import NoWish


async def jobs(visit: Visit) -> Response:
    office, now = visit.desks.office, visit.desks.now()
    rows = (await list_jobs(office, NoWish(), visit.by)).data
    return visit.page(
        "jobs.html",
        jobs=[(job, is_late(job, now)) for job in rows],
        books=await show_books_verdict(office, NoWish(), visit.by),
    )


async def nodes(visit: Visit) -> Response:
    office = visit.desks.office
    rows = (await list_nodes(office, NoWish(), visit.by)).data
    return visit.page("nodes.html", nodes=rows, house=await show_house(office, NoWish(), visit.by))


async def settings(visit: Visit) -> Response:
    part = visit.query.get("q", "").strip()[:100]
    rows = (await list_settings(visit.desks.office, NoWish(), visit.by)).data
    found = [row for row in rows if part.lower() in f"{row.variable} {row.what_for}".lower()]
    return visit.page("settings.html", rows=found, in_all=len(rows), part=part)


PAGES = (
    staff_get("/staff/jobs", jobs, Scope.READ),
    staff_get("/staff/nodes", nodes, Scope.READ),
    staff_get("/staff/settings", settings, Scope.READ),
)
