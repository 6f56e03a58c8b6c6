"""Rows by their number: what a page of them begins after, and who is entitled by a scope."""

from typing import Annotated

import msgspec

from tollkeeper.core.people.logins import Actor, Role
from tollkeeper.office.lists import BadCursor, Paging
from tollkeeper.office.wishes import ROW_MOST

RowOnFile = Annotated[int, msgspec.Meta(ge=1, le=ROW_MOST)]


def row_after(paging: Paging) -> int | None:
    """The number that a page begins after; None: at the beginning. Raise BadCursor."""
    found = paging.after_key(int)
    if found is not None and not 1 <= found <= ROW_MOST:
        raise BadCursor
    return found


def entitled(by: Actor) -> Actor:
    """Whoever calls an act has the scope for it: for what is in the table under that scope, no role is asked again."""
    return Actor(by.name, Role.OPERATOR)
