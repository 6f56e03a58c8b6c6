"""Lists of staff: the way to the next page, and what of a page its visitor may do."""

from typing import Any
from urllib.parse import urlencode

from tollkeeper.console.visit import Visit
from tollkeeper.core.people.operator_keys import ROLE_SCOPES, Scope, may
from tollkeeper.office.lists import Listed

# Of what an address may say: which is said of this page alone.
OF_THIS_PAGE = ("after", "done", "lang", "chain")


def next_page(visit: Visit, path: str, page: Listed[Any] | None) -> str:
    """The address of what follows, with the same filters; empty where nothing does."""
    if page is None or page.next is None:
        return ""
    kept = {name: text[:200] for name, text in visit.query.items() if name not in OF_THIS_PAGE and text}
    return f"{path}?{urlencode(kept | {'after': page.next})}"


def has_scope(visit: Visit, scope: Scope) -> bool:
    """Whether whoever looks may also act: buttons that would be refused are not shown."""
    return may(ROLE_SCOPES[visit.session.role], scope)
