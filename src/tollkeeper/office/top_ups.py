"""Top-ups: what redeemed codes became, and taking one back whose payment was taken back."""

from datetime import datetime
from typing import Annotated

import msgspec

from tollkeeper.accounts.money.top_ups import revoke_top_up as take_top_up_back
from tollkeeper.core.people.logins import Actor
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.act import MoneyWish, act
from tollkeeper.office.amounts import Amount, Cash, amount_of, cash_of
from tollkeeper.office.desks import Office
from tollkeeper.office.lists import Listed, Paging, listed
from tollkeeper.office.rows import RowOnFile
from tollkeeper.office.wishes import AccountNumber
from tollkeeper.ports.customers.redemption import TopUpRecord

LetGo = Annotated[bool, msgspec.Meta(description="Let go what was spent or paid out of it. Otherwise that is owed.")]


class TopUpsWish(Paging, frozen=True, kw_only=True):
    account: AccountNumber | None = None


class TopUpNumber(msgspec.Struct, frozen=True, kw_only=True):
    top_up: RowOnFile


class RevokeTopUp(MoneyWish, frozen=True, kw_only=True):
    top_up: RowOnFile
    write_off: LetGo = False


class TopUpView(msgspec.Struct, frozen=True, kw_only=True):
    """`taken_back`, `owed` and `written_off`: of the top-up's own lot, where it was revoked."""

    id: int
    account: int
    at: datetime
    batch: int
    paid: Cash
    quota: Amount
    gift: Amount
    lot: int
    lot_expires_at: datetime
    revoked_at: datetime | None
    revoked_by: str | None
    revoke_reason: str | None
    taken_back: Amount | None
    owed: Amount | None
    written_off: Amount | None


class RevokedTopUp(msgspec.Struct, frozen=True, kw_only=True):
    """What revoking it did to its own lot, and how many rewards went with it. `was_before`: all of that was done
    earlier, and nothing now."""

    was_before: bool
    taken_back: Amount
    owed: Amount
    written_off: Amount
    rewards: int


@act("GET", "/top-ups", Scope.READ)
async def list_top_ups(office: Office, wish: TopUpsWish, by: Actor) -> Listed[TopUpView]:
    """The top-ups of an account, or of all, the newest first."""
    if wish.account is not None:
        await office.accounts.need(wish.account)
    rows = await office.redemptions.top_up_page(
        account_id=wish.account, before_id=wish.after_row(), limit=wish.limit + 1
    )
    return listed([top_up_view(row) for row in rows], wish.limit, lambda row: row.id)


@act("GET", "/top-ups/{top_up}", Scope.READ)
async def show_top_up(office: Office, wish: TopUpNumber, by: Actor) -> TopUpView:
    """A top-up: what was paid, what it brought, and what became of it where it was revoked."""
    return top_up_view(await office.redemptions.top_up(wish.top_up))


@act("POST", "/top-ups/{top_up}/revoke", Scope.MONEY)
async def revoke_top_up(office: Office, wish: RevokeTopUp, by: Actor) -> RevokedTopUp:
    """Take a top-up back whose payment was taken back, with every reward that came of it."""
    done = await take_top_up_back(wish.top_up, wish.reason, office.codes, write_off=wish.write_off, by=by)
    return RevokedTopUp(
        was_before=done.before,
        taken_back=amount_of(done.taken_back),
        owed=amount_of(done.owed),
        written_off=amount_of(done.written_off),
        rewards=done.rewards,
    )


def top_up_view(row: TopUpRecord) -> TopUpView:
    return TopUpView(
        id=row.id,
        account=row.account_id,
        at=row.at,
        batch=row.batch_id,
        paid=cash_of(row.usd_micros),
        quota=amount_of(row.quota),
        gift=amount_of(row.gift),
        lot=row.lot_id,
        lot_expires_at=row.lot_expires_at,
        revoked_at=row.revoked_at,
        revoked_by=row.revoked_by,
        revoke_reason=row.revoke_reason,
        taken_back=_amount(row.taken_back),
        owed=_amount(row.owed),
        written_off=_amount(row.written_off),
    )


def _amount(quota: int | None) -> Amount | None:
    return None if quota is None else amount_of(quota)


ACTS = (list_top_ups, show_top_up, revoke_top_up)
