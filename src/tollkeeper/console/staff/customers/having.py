"""All that a customer has of one kind, a page at a time: their keys, their lots."""

from starlette.responses import Response

from tollkeeper.console.pages import staff_get
from tollkeeper.console.staff.acting import acted
from tollkeeper.console.staff.customers.bars import bar_of
from tollkeeper.console.staff.list_links import has_scope, next_page
from tollkeeper.console.visit import Visit
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.accounts import show_account
from tollkeeper.office.customer_keys import list_keys
from tollkeeper.office.lots import list_lots
from tollkeeper.office.wishes import AccountWish

ACCOUNT = "/staff/customers/{account:int}"


async def show_keys(visit: Visit) -> Response:
    account = await show_account(visit.desks.office, _whose(visit), visit.by)
    page = await acted(visit, list_keys, account=account.account)
    return visit.page(
        "customer_keys.html",
        account=account,
        rows=page.data if page else [],
        more=next_page(visit, visit.request.url.path, page),
        may_act=has_scope(visit, Scope.SUPPORT),
    )


async def show_lots(visit: Visit) -> Response:
    account = await show_account(visit.desks.office, _whose(visit), visit.by)
    page = await acted(visit, list_lots, account=account.account)
    return visit.page(
        "customer_lots.html",
        account=account,
        rows=[bar_of(lot) for lot in page.data] if page else [],
        more=next_page(visit, visit.request.url.path, page),
        may_act=has_scope(visit, Scope.MONEY),
    )


def _whose(visit: Visit) -> AccountWish:
    return AccountWish(account=visit.request.path_params["account"])


PAGES = (
    staff_get(f"{ACCOUNT}/keys", show_keys, Scope.READ),
    staff_get(f"{ACCOUNT}/lots", show_lots, Scope.READ),
)
