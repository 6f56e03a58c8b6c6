"""Bans of clients and restrictions of accounts: lists, one with its evidence and history, lifting, banning by hand."""

from collections.abc import Mapping

from starlette.responses import Response

from tollkeeper.console.pages import staff_get, staff_post
from tollkeeper.console.staff.acting import acted
from tollkeeper.console.staff.list_links import has_scope, next_page
from tollkeeper.console.visit import Visit
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.abuse import (
    BanNumber,
    BansWish,
    ClientWish,
    add_ban,
    explain_bans,
    explain_restrictions,
    lift_ban,
    lift_restriction,
    list_bans,
    list_restrictions,
    show_ban,
)
from tollkeeper.office.wishes import AccountWish

HISTORY_SHOWN = 50
PEAKS_SHOWN = 120


async def show_bans(visit: Visit) -> Response:
    page = await acted(visit, list_bans)
    asked = {name: visit.query.get(name, "").strip()[:60] for name in ("ip", "all")}
    older = next_page(visit, "/staff/bans", page)
    return visit.page("bans.html", rows=page.data if page else [], older=older, asked=asked, **_rights(visit))


async def ban(visit: Visit) -> Response:
    """By hand. What was typed stays on the form where it is refused."""
    done = await acted(visit, add_ban)
    if done is not None:
        return visit.go("/staff/bans", done="banned")
    page = await list_bans(visit.desks.office, BansWish(), visit.by)
    return visit.page("bans.html", rows=page.data, older="", asked={"ip": "", "all": ""}, **_rights(visit))


async def show_one_ban(visit: Visit) -> Response:
    number = visit.request.path_params["ban"]
    found = await show_ban(visit.desks.office, BanNumber(ban=number), visit.by)
    history = await explain_bans(visit.desks.office, ClientWish(ip=found.ip), visit.by)
    shown = [each for each in history.bans if each.id != found.id][:HISTORY_SHOWN]
    return visit.page("ban.html", ban=found, client=history, earlier=shown, **_rights(visit))


async def lift(visit: Visit) -> Response:
    number = visit.request.path_params["ban"]
    found = await show_ban(visit.desks.office, BanNumber(ban=number), visit.by)
    done = await acted(visit, lift_ban, ip=found.ip)
    if done is None:
        return await show_one_ban(visit)
    return visit.go(f"/staff/bans/{number}", done="ban-lifted" if done.changed else "nothing-to-lift")


async def show_restrictions(visit: Visit) -> Response:
    page = await acted(visit, list_restrictions)
    asked = {"all": visit.query.get("all", "").strip()[:10]}
    older = next_page(visit, "/staff/restrictions", page)
    return visit.page("restrictions.html", rows=page.data if page else [], older=older, asked=asked)


async def show_one_restriction(visit: Visit) -> Response:
    wish = AccountWish(account=visit.request.path_params["account"])
    found = await explain_restrictions(visit.desks.office, wish, visit.by)
    return visit.page(
        "restriction.html",
        found=found,
        history=found.restrictions[:HISTORY_SHOWN],
        peaks=found.peaks[:PEAKS_SHOWN],
        **_rights(visit),
    )


async def free(visit: Visit) -> Response:
    account = visit.request.path_params["account"]
    done = await acted(visit, lift_restriction, account=account)
    if done is None:
        return await show_one_restriction(visit)
    name = "restriction-lifted" if done.changed else "nothing-to-lift"
    return visit.go(f"/staff/restrictions/{account}", done=name)


def _rights(visit: Visit) -> Mapping[str, bool]:
    return {"may_act": has_scope(visit, Scope.SUPPORT)}


PAGES = (
    staff_get("/staff/bans", show_bans, Scope.READ),
    staff_post("/staff/bans/add", ban, Scope.SUPPORT),
    staff_get("/staff/bans/{ban:int}", show_one_ban, Scope.READ),
    staff_post("/staff/bans/{ban:int}/lift", lift, Scope.SUPPORT),
    staff_get("/staff/restrictions", show_restrictions, Scope.READ),
    staff_get("/staff/restrictions/{account:int}", show_one_restriction, Scope.READ),
    staff_post("/staff/restrictions/{account:int}/lift", free, Scope.SUPPORT),
)
