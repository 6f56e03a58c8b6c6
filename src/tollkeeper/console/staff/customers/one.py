"""A customer: who they are, what they have, everything that happened to them, and what can be done."""

from collections.abc import Sequence
from urllib.parse import urlencode

from starlette.responses import Response

from tollkeeper.console.pages import staff_get
from tollkeeper.console.staff.customers.acts import ACCOUNT_DEEDS
from tollkeeper.console.staff.customers.bars import bar_of
from tollkeeper.console.staff.customers.told import happened
from tollkeeper.console.staff.deeds import StaffDeed
from tollkeeper.console.visit import Visit
from tollkeeper.core.people.operator_keys import ROLE_SCOPES, Scope, may
from tollkeeper.office.accounts import AccountView, TimelineRow, TimelineWish, show_account, show_timeline
from tollkeeper.office.customer_keys import KeysWish, list_keys
from tollkeeper.office.lists import BadCursor, Listed
from tollkeeper.office.lots import LotsWish, list_lots
from tollkeeper.office.partner import show_partner
from tollkeeper.office.wishes import AccountWish
from tollkeeper.ports.customers.roster import CustomerState

AT_ONCE = 25
OF_ACCOUNT = "/staff/customers/{account:int}/"


async def show(visit: Visit) -> Response:
    office, number = visit.desks.office, visit.request.path_params["account"]
    account = await show_account(office, AccountWish(account=number), visit.by)
    keys = await list_keys(office, KeysWish(account=number, limit=AT_ONCE), visit.by)
    lots = await list_lots(office, LotsWish(account=number, limit=AT_ONCE), visit.by)
    timeline = await _timeline(visit, number)
    older = urlencode({"after": timeline.next}) if timeline.next else ""
    return visit.page(
        "customer.html",
        account=account,
        keys=keys,
        lots=Listed([bar_of(lot) for lot in lots.data], lots.next),
        partner=await show_partner(office, AccountWish(account=number), visit.by),
        events=[happened(row) for row in timeline.data],
        older=f"/staff/customers/{number}?{older}#timeline" if older else "",
        is_first_page=not visit.query.get("after"),
        deeds=_deeds(visit, account),
        may=_may(visit),
    )


async def _timeline(visit: Visit, number: int) -> Listed[TimelineRow]:
    wish = TimelineWish(account=number, limit=AT_ONCE, after=visit.query.get("after", "")[:500])
    try:
        return await show_timeline(visit.desks.office, wish, visit.by)
    except BadCursor as problem:
        visit.form.refuse("", str(problem))
        return Listed[TimelineRow]([])


def _deeds(visit: Visit, account: AccountView) -> Sequence[tuple[str, StaffDeed]]:
    """What whoever looks may do with this account as it is now, with where."""
    is_open = account.state is CustomerState.OPEN
    pointless = {
        *(("lift-restriction",) if account.restricted_until is None else ("restrict",)),
        *(("enable",) if is_open else ("disable", "restrict")),
        *(() if account.email else ("end-sessions", "unlock", "reset-password")),
    }
    rights = ROLE_SCOPES[visit.by.role]
    found = []
    for deed in ACCOUNT_DEEDS:
        name = deed.path.removeprefix(OF_ACCOUNT)
        if "/" not in name and name not in pointless and may(rights, deed.act.scope):
            found.append((f"/staff/customers/{account.account}/{name}", deed))
    return found


def _may(visit: Visit) -> dict[str, bool]:
    rights = ROLE_SCOPES[visit.by.role]
    return {scope.value: may(rights, scope) for scope in (Scope.SUPPORT, Scope.MONEY)}


PAGES = (staff_get("/staff/customers/{account:int}", show, Scope.READ),)
