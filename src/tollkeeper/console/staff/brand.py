"""The brand: what customers see as the service's name, logo, colours and legal pages."""

from typing import Any

from starlette.responses import Response

from tollkeeper.console.pages import staff_get, staff_upload
from tollkeeper.console.staff.acting import acted
from tollkeeper.console.staff.list_links import has_scope
from tollkeeper.console.visit import Visit
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.brand import change_brand, show_brand
from tollkeeper.office.wishes import NoWish

PLACE = "/staff/brand"
TEXTS = ("name", "support", "accent_light", "accent_dark", "imprint", "terms", "privacy")
# Three texts as long as they may be, in letters of three bytes, and a logo.
FORM_BYTES = 512 * 1024


async def show(visit: Visit) -> Response:
    """Also after a form that was refused: then with what was sent."""
    brand = await show_brand(visit.desks.office, NoWish(), visit.by)
    sent = visit.request.method == "POST"
    values = {name: visit.form.text(name) if sent else getattr(brand, name) for name in TEXTS}
    may_change = has_scope(visit, Scope.EVERYTHING)
    return visit.page("brand.html", values=values, may_change=may_change, usual_name=visit.site.name)


async def change(visit: Visit) -> Response:
    given: dict[str, Any] = {name: visit.form.text(name) for name in TEXTS}
    logo = visit.form.text("logo_png")
    given["logo_png"] = "" if visit.form.ticked("no_logo") else logo or None
    done = await acted(visit, change_brand, **given)
    return await show(visit) if done is None else visit.go(PLACE, done="brand-changed")


PAGES = (
    staff_get(PLACE, show, Scope.READ),
    staff_upload(PLACE, change, Scope.EVERYTHING, bytes_most=FORM_BYTES),
)
