"""Restricting an account by hand: for somebody whose calls harm others before abuse control has counted enough."""

from datetime import datetime
from typing import Annotated

import msgspec

from tollkeeper.accounts.people.staff import require_over_customer
from tollkeeper.accounts.reasons import checked_reason
from tollkeeper.core.people.logins import Actor
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.act import act
from tollkeeper.office.desks import Office
from tollkeeper.office.wishes import AccountReason
from tollkeeper.ports import AlreadyOnFile

HOURS_MOST = 31 * 24


class RestrictWish(AccountReason, frozen=True, kw_only=True):
    hours: Annotated[int, msgspec.Meta(ge=1, le=HOURS_MOST, description="For how long.")] = 24


class NewRestriction(msgspec.Struct, frozen=True, kw_only=True):
    account: int
    until: datetime


@act("POST", "/accounts/{account}/restriction", Scope.SUPPORT)
async def restrict_account(office: Office, wish: RestrictWish, by: Actor) -> NewRestriction:
    """Give an account the rate of restricted ones, as if it had been at peak for too long, on every node within two
    seconds."""
    reason = checked_reason(wish.reason)
    await require_over_customer(office.front_desk, wish.account, by=by)
    until = await office.abuse.restrict(wish.account, wish.hours * 3_600, reason, actor=by.name)
    if until is None:
        raise AlreadyOnFile(f"Account {wish.account} is restricted already. Lift that restriction first.")
    return NewRestriction(account=wish.account, until=until)


ACTS = (restrict_account,)
