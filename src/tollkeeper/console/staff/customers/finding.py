"""Finding a customer by whatever is at hand: name, e-mail, number, the end of a key, the id of a call."""

import re
from uuid import UUID

from starlette.responses import Response

from tollkeeper.console.pages import staff_get
from tollkeeper.console.staff.acting import acted
from tollkeeper.console.staff.list_links import next_page
from tollkeeper.console.visit import Visit
from tollkeeper.core.keys import has_key_form, hint
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.accounts import AccountRow, AccountsWish, list_accounts, show_account
from tollkeeper.office.calls import CallWish, show_call
from tollkeeper.office.lists import Listed
from tollkeeper.office.wishes import ROW_MOST, AccountWish
from tollkeeper.ports import NotOnFile

SEARCH_CHARACTERS_MOST = 200
# More than one: then there is a choice to make.
ENOUGH = 2

_NUMBER = re.compile(r"#?([0-9]{1,18})")


async def find(visit: Visit) -> Response:
    """Go straight to whoever is meant; to the list, where several may be or nobody is."""
    text = visit.query.get("q", "").strip()[:SEARCH_CHARACTERS_MOST]
    # A key that was pasted whole goes no further.
    text = hint(text) if has_key_form(text) else text
    call = await _call(visit, text)
    if call is not None:
        return visit.go(f"/staff/calls/{call}")
    account = await _meant(visit, text) if text else None
    if account is not None:
        return visit.go(f"/staff/customers/{account}")
    return visit.go("/staff/customers", **({"search": text} if text else {}))


async def show(visit: Visit) -> Response:
    page = await acted(visit, list_accounts) or Listed[AccountRow]([])
    search = visit.query.get("search", "").strip()[:SEARCH_CHARACTERS_MOST]
    older = next_page(visit, "/staff/customers", page)
    lapsing = visit.query.get("lapsing") == "true"
    return visit.page("customers.html", rows=page.data, search=search, lapsing=lapsing, older=older)


async def _call(visit: Visit, text: str) -> UUID | None:
    """The call that is meant, where the text is the id of one."""
    try:
        found = await show_call(visit.desks.office, CallWish(request_id=UUID(text)), visit.by)
    except (ValueError, NotOnFile):
        return None
    return found.request_id


async def _meant(visit: Visit, text: str) -> int | None:
    """The account, where it is clear which: by its number, by its whole e-mail, or because only one fits."""
    number = _NUMBER.fullmatch(text)
    if number and 1 <= int(number[1]) <= ROW_MOST:
        try:
            return (await show_account(visit.desks.office, AccountWish(account=int(number[1])), visit.by)).account
        except NotOnFile:
            pass
    found = (await list_accounts(visit.desks.office, AccountsWish(search=text, limit=ENOUGH), visit.by)).data
    whole = [row.account for row in found if row.email == text.lower()]
    if whole:
        return whole[0]
    return found[0].account if len(found) == 1 else None


PAGES = (
    staff_get("/staff/find", find, Scope.READ),
    staff_get("/staff/customers", show, Scope.READ),
)
