"""Readings: who of staff reads the console as a customer, and ending that.

Rules of this file
1. A reading is begun on its page alone: it belongs to a session of the console, and an operator key has none.
"""

from typing import Annotated

import msgspec

from tollkeeper.core.people.logins import Actor
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.act import act
from tollkeeper.office.desks import Office
from tollkeeper.office.lists import Listed, Paging, listed
from tollkeeper.office.rows import RowOnFile
from tollkeeper.office.wishes import AccountNumber, Changed, ReasonText
from tollkeeper.ports.readings import ReadingRecord


class ReadingsWish(Paging, frozen=True, kw_only=True):
    account: Annotated[AccountNumber | None, msgspec.Meta(description="Of one customer; left out: of all.")] = None


class EndReadingWish(msgspec.Struct, frozen=True, kw_only=True):
    reading: RowOnFile
    reason: ReasonText


@act("GET", "/readings", Scope.READ)
async def list_readings(office: Office, wish: ReadingsWish, by: Actor) -> Listed[ReadingRecord]:
    """Who of staff read the console as which customer, when and why: the newest first."""
    if wish.account is not None:
        await office.accounts.need(wish.account)
    rows = await office.front_desk.readings.page(wish.account, before_id=wish.after_row(), limit=wish.limit + 1)
    return listed(rows, wish.limit, lambda row: row.reading)


@act("POST", "/readings/{reading}/end", Scope.SUPPORT)
async def end_reading_as(office: Office, wish: EndReadingWish, by: Actor) -> Changed:
    """End a reading at once, whoever began it: their next page is their own again."""
    return Changed(await office.front_desk.readings.stop(wish.reading, actor=by.name))


ACTS = (list_readings, end_reading_as)
