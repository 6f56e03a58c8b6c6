"""Top-ups: what was paid and what it brought; and refunds, which take it back with every reward that came of it."""

from starlette.responses import Response

from tollkeeper.console import figures
from tollkeeper.console.pages import staff_get
from tollkeeper.console.staff.acting import acted
from tollkeeper.console.staff.deeds import DeedField, DeedSubject, StaffDeed, pages_of
from tollkeeper.console.staff.list_links import has_scope, next_page
from tollkeeper.console.visit import Visit
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.lists import Listed
from tollkeeper.office.top_ups import TopUpNumber, TopUpView, list_top_ups, revoke_top_up, show_top_up


async def show(visit: Visit) -> Response:
    page = await acted(visit, list_top_ups) or Listed[TopUpView]([])
    account = visit.query.get("account", "").strip()[:20]
    older = next_page(visit, "/staff/top-ups", page)
    return visit.page("top_ups.html", rows=page.data, account=account, older=older)


async def show_one(visit: Visit) -> Response:
    return visit.page(
        "top_up_shown.html",
        top_up=await _top_up(visit),
        may_refund=has_scope(visit, Scope.MONEY),
    )


async def look_at_top_up(visit: Visit) -> DeedSubject:
    found = await _top_up(visit)
    facts = (
        ("Account", found.account),
        ("Paid", f"${found.paid.usd}"),
        ("Brought", figures.usd(found.quota.micro_quota)),
        ("Gift on top", figures.usd(found.gift.micro_quota) if found.gift.micro_quota else None),
        ("Redeemed", f"{found.at:%Y-%m-%d %H:%M} UTC"),
    )
    hindrance = f"It was refunded before, by {found.revoked_by}." if found.revoked_at else ""
    return DeedSubject(name=f"Top-up {found.id}", facts=facts, hindrance=hindrance)


async def _top_up(visit: Visit) -> TopUpView:
    wish = TopUpNumber(top_up=visit.request.path_params["top_up"])
    return await show_top_up(visit.desks.office, wish, visit.by)


REFUND = StaffDeed(
    path="/staff/top-ups/{top_up:int}/refund",
    act=revoke_top_up,
    look=look_at_top_up,
    title="Refund a top-up",
    words="What is left of it is taken back, with every reward that came of it. What was spent of it is owed from then "
    "on. The money itself goes back where it came from, by whoever took it.",
    button="Refund it",
    back="/staff/top-ups/{top_up}",
    done="refunded",
    fields=(
        DeedField(
            name="write_off",
            label="Let go what was spent of it",
            kind="box",
            hint="Then nothing is owed, and the loss is ours.",
        ),
    ),
    is_grave=True,
)
PAGES = (
    staff_get("/staff/top-ups", show, Scope.READ),
    staff_get("/staff/top-ups/{top_up:int}", show_one, Scope.READ),
    *pages_of((REFUND,)),
)
