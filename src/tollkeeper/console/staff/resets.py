"""Second factors and passkeys of people who lost them: asked for by one member of staff, confirmed by another."""

from starlette.responses import Response

from tollkeeper.console.pages import staff_get, staff_post
from tollkeeper.console.staff.acting import acted
from tollkeeper.console.staff.list_links import next_page
from tollkeeper.console.visit import Visit
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.act import Act
from tollkeeper.office.factor_resets import (
    DecideResetWish,
    ResetAsked,
    ResetNumber,
    ResetsWish,
    ResetView,
    confirm_reset,
    drop_login_passkeys,
    drop_login_second_factor,
    list_resets,
    refuse_reset,
    show_reset,
)
from tollkeeper.office.lists import Listed
from tollkeeper.ports.factor_resets import FactorKind

WHAT = {FactorKind.SECOND_FACTOR: "second factor", FactorKind.PASSKEYS: "passkeys"}


async def show_list(visit: Visit) -> Response:
    return _listed(visit, await acted(visit, list_resets))


def _listed(visit: Visit, page: Listed[ResetView] | None) -> Response:
    asked = {name: visit.query.get(name, "").strip()[:40] for name in ("account", "all")}
    older = next_page(visit, "/staff/resets", page)
    return visit.page("resets.html", rows=page.data if page else [], older=older, asked=asked, what=WHAT)


async def ask(visit: Visit) -> Response:
    """What was typed stays on the form where it is refused."""
    done: ResetAsked | None
    if visit.form.text("what") == FactorKind.PASSKEYS:
        done = await acted(visit, drop_login_passkeys)
    else:
        done = await acted(visit, drop_login_second_factor)
    if done is not None and done.reset is not None:
        return visit.go(f"/staff/resets/{done.reset.id}", done="reset-asked")
    if done is not None:
        visit.form.refuse("", f"Account {done.account} has no such thing to drop. Nothing was done.")
    return _listed(visit, await list_resets(visit.desks.office, ResetsWish(), visit.by))


async def show_one(visit: Visit) -> Response:
    wish = ResetNumber(reset=visit.request.path_params["reset"])
    found = await show_reset(visit.desks.office, wish, visit.by)
    return visit.page("reset_one.html", reset=found, what=WHAT, is_own=found.asked_by == visit.actor)


async def confirm(visit: Visit) -> Response:
    return await _decide(visit, confirm_reset, "reset-done")


async def refuse(visit: Visit) -> Response:
    return await _decide(visit, refuse_reset, "reset-refused")


async def _decide(visit: Visit, act: Act[DecideResetWish, ResetView], done: str) -> Response:
    number = visit.request.path_params["reset"]
    decided = await acted(visit, act, reset=number)
    return await show_one(visit) if decided is None else visit.go(f"/staff/resets/{number}", done=done)


PAGES = (
    staff_get("/staff/resets", show_list, Scope.SUPPORT),
    staff_post("/staff/resets/ask", ask, Scope.SUPPORT),
    staff_get("/staff/resets/{reset:int}", show_one, Scope.SUPPORT),
    staff_post("/staff/resets/{reset:int}/confirm", confirm, Scope.SUPPORT),
    staff_post("/staff/resets/{reset:int}/refuse", refuse, Scope.SUPPORT),
)
