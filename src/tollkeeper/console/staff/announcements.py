"""Announcements: what everybody is told on the console's home page and where people sign in."""

from starlette.responses import Response

from tollkeeper.console.pages import staff_get, staff_post
from tollkeeper.console.staff.acting import acted
from tollkeeper.console.staff.list_links import has_scope, next_page
from tollkeeper.console.staff.prices import in_utc
from tollkeeper.console.visit import Visit
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.announcements import AnnouncementsWish, add_announcement, end_announcement, list_announcements

LIST = "/staff/announcements"


async def show(visit: Visit) -> Response:
    is_sent = visit.request.method == "POST"
    page = (
        await list_announcements(visit.desks.office, AnnouncementsWish(), visit.by)
        if is_sent
        else await acted(visit, list_announcements)
    )
    return visit.page(
        "announcements_staff.html",
        rows=page.data if page else [],
        older=next_page(visit, LIST, page),
        now=visit.desks.now(),
        over=not is_sent and visit.query.get("over") == "true",
        may_change=has_scope(visit, Scope.CATALOG),
    )


async def add(visit: Visit) -> Response:
    times = {name: in_utc(visit.form.text(name)) for name in ("starts_at", "ends_at") if visit.form.text(name)}
    made = await acted(visit, add_announcement, **times)
    return await show(visit) if made is None else visit.go(LIST, done="announcement-made")


async def end(visit: Visit) -> Response:
    done = await acted(visit, end_announcement, announcement=visit.request.path_params["announcement"])
    return await show(visit) if done is None else visit.go(LIST, done="announcement-ended")


PAGES = (
    staff_get(LIST, show, Scope.READ),
    staff_post(LIST, add, Scope.CATALOG),
    staff_post(LIST + "/{announcement:int}/end", end, Scope.CATALOG),
)
