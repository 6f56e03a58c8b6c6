"""Rows by their number, and who is entitled by a scope."""

from typing import Annotated

import msgspec

from tollkeeper.core.people.logins import Actor, Role
from tollkeeper.office.wishes import ROW_MOST

RowOnFile = Annotated[int, msgspec.Meta(ge=1, le=ROW_MOST)]


def entitled(by: Actor) -> Actor:
    """Whoever calls an act has the scope for it: for what is in the table under that scope, no role is asked again."""
    return Actor(by.name, Role.OPERATOR)
