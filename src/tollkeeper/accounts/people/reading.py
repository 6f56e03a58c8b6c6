"""Reading the console as a customer does, for staff who help: never acting as one.

Rules of this file
1. Who reads, as whom, why and until when is on the record, and so is the end.
2. What is read belongs to a customer. Accounts of staff are not read as, and whoever becomes staff is not any more.
3. A reading ends after 30 minutes, with the session, or when it is stopped. One whose time is up is noted as ended by
   the next page that its session asks for; where none follows, the record of its beginning says until when.
"""

from datetime import datetime

import msgspec

from tollkeeper.accounts.people.front_desk import FrontDesk
from tollkeeper.accounts.people.sessions import owner
from tollkeeper.accounts.people.staff import require_role
from tollkeeper.accounts.reasons import checked_reason
from tollkeeper.core.people.logins import Actor, Role, SessionRecord
from tollkeeper.ports import NotOnFile
from tollkeeper.ports.readings import ReadAs


class NotReadAs(ValueError):
    """This is an account of staff, and those are not read as. Nothing was begun."""

    def __init__(self) -> None:
        super().__init__(self.__doc__)


async def begin_reading(desk: FrontDesk, session: SessionRecord, account_id: int, reason: str) -> datetime:
    """Until when. Raise RoleMissing, NotReadAs, ValueError for the reason, or NotOnFile."""
    require_role(Actor(owner(session.account_id), session.role), Role.SUPPORT)
    reason = checked_reason(reason)
    try:
        login = await desk.logins.of(account_id)
    except NotOnFile:
        # Nobody signs in to it: a reseller's, say. That there is such an account is seen when it is begun.
        login = None
    if login is not None and login.role.is_staff:
        raise NotReadAs
    return await desk.readings.begin(session.session_id, account_id, reason, actor=owner(session.account_id))


async def reading_of(desk: FrontDesk, session: SessionRecord) -> ReadAs | None:
    """As whom a session reads now. One that is over is noted as ended."""
    if not session.role.is_staff:
        return None
    found = await desk.readings.of(session.session_id)
    if found is None:
        return None
    if found.is_over or found.is_staff:
        how = "its time was up" if found.is_over else "the account is of staff now"
        await desk.readings.end(found, how, actor=owner(session.account_id))
        return None
    return found


async def end_reading(desk: FrontDesk, session: SessionRecord, reading: ReadAs, how: str) -> None:
    await desk.readings.end(reading, how, actor=owner(session.account_id))


def as_customer(session: SessionRecord, reading: ReadAs) -> SessionRecord:
    """What pages of customers are shown instead of the session of whoever reads."""
    return msgspec.structs.replace(
        session,
        account_id=reading.account_id,
        role=Role.CUSTOMER,
        has_second_factor=reading.has_second_factor,
    )
