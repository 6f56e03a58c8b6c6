"""Lots over time: listed, extended, taken back; and what a month did to an account's quota."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import msgspec

from tollkeeper.accounts.money.lots import extend_lot as extend
from tollkeeper.accounts.money.lots import revoke_lot as revoke
from tollkeeper.accounts.money.statement import month_statement
from tollkeeper.core.people.logins import Actor
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.act import MoneyWish, act
from tollkeeper.office.amounts import Amount, amount_of
from tollkeeper.office.desks import Office
from tollkeeper.office.lists import Listed, Paging, listed
from tollkeeper.office.wishes import ROW_MOST, AccountNumber, AccountWish, Moment, checked_moment
from tollkeeper.ports.customers.lots import Item, LotPlace, LotRecord

LotNumber = Annotated[int, msgspec.Meta(ge=1, le=ROW_MOST, description="The lot's number.")]


class LotsWish(Paging, frozen=True, kw_only=True):
    account: AccountNumber


class LotView(msgspec.Struct, frozen=True, kw_only=True):
    lot: int
    account: int
    # None: every key of the account draws from it.
    key: int | None
    source: str
    granted: Amount
    remaining: Amount
    created_at: datetime
    expires_at: datetime
    # By now. It can be extended until it is closed.
    is_expired: bool
    closed_at: datetime | None
    closed_as: str | None


class ExtendLotWish(MoneyWish, frozen=True, kw_only=True):
    lot: LotNumber
    until: Moment


class LotExtended(msgspec.Struct, frozen=True):
    lot: int
    expires_at: datetime


class RevokeLotWish(MoneyWish, frozen=True, kw_only=True):
    lot: LotNumber


class LotRevoked(msgspec.Struct, frozen=True, kw_only=True):
    """What was left of it and is gone, and what is owed since because it was spent."""

    lot: int
    taken_back: Amount
    owed: Amount
    # Whether it had been taken back before: then nothing was done now.
    was_before: bool


class StatementWish(AccountWish, frozen=True, kw_only=True):
    month: Annotated[str, msgspec.Meta(max_length=20, description="A calendar month, UTC: for example 2026-10.")]


class StatementRow(msgspec.Struct, frozen=True, kw_only=True):
    """What came in (more than nothing) or went out (less), in all. `detail`: of what was spent, the model."""

    what: Item
    detail: str
    times: int
    amount: Amount


class StatementView(msgspec.Struct, frozen=True, kw_only=True):
    """Exact: opening + what the rows say = closing. Below nothing is what is owed."""

    account: int
    since: datetime
    until: datetime
    opening: Amount
    rows: Sequence[StatementRow]
    closing: Amount


@act("GET", "/accounts/{account}/lots", Scope.READ)
async def list_lots(office: Office, wish: LotsWish, by: Actor) -> Listed[LotView]:
    """An account's lots, in the order in which they are spent; closed ones last."""
    after = wish.after_key(LotPlace)
    lots = await office.lots.of_account(wish.account, after=after, limit=wish.limit + 1)
    page, now = listed(lots, wish.limit, lambda lot: lot.place), await office.prices.now()
    return Listed([_view(lot, now) for lot in page.data], page.next)


@act("POST", "/lots/{lot}/extend", Scope.MONEY)
async def extend_lot(office: Office, wish: ExtendLotWish, by: Actor) -> LotExtended:
    """Let a lot expire later. One that expired less than a day ago comes back."""
    until = checked_moment(wish.until)
    await extend(wish.lot, until, wish.reason, office.lots, actor=by.name)
    return LotExtended(wish.lot, until)


@act("POST", "/lots/{lot}/revoke", Scope.MONEY)
async def revoke_lot(office: Office, wish: RevokeLotWish, by: Actor) -> LotRevoked:
    """Take a lot back: what is left of it is gone, what was spent of it is owed. What a code brought is taken back by
    its top-up, with every reward that came of it."""
    done = await revoke(wish.lot, wish.reason, office.lots, actor=by.name)
    return LotRevoked(
        lot=wish.lot, taken_back=amount_of(done.revoked), owed=amount_of(done.owed), was_before=done.was_before
    )


@act("GET", "/accounts/{account}/statements/{month}", Scope.READ)
async def show_statement(office: Office, wish: StatementWish, by: Actor) -> StatementView:
    """What came to an account and what went in a month, by what it was for."""
    found = await month_statement(wish.account, wish.month, office.statements)
    rows = [
        StatementRow(what=line.item, detail=line.detail, times=line.count, amount=amount_of(line.amount))
        for line in found.lines
    ]
    return StatementView(
        account=found.account_id,
        since=found.since,
        until=found.until,
        opening=amount_of(found.opening),
        rows=rows,
        closing=amount_of(found.closing),
    )


def _view(lot: LotRecord, now: datetime) -> LotView:
    return LotView(
        lot=lot.id,
        account=lot.account_id,
        key=lot.key_id,
        source=lot.source,
        granted=amount_of(lot.granted),
        remaining=amount_of(lot.remaining),
        created_at=lot.created_at,
        expires_at=lot.expires_at,
        is_expired=lot.expires_at <= now,
        closed_at=lot.closed_at,
        closed_as=lot.closed_as,
    )


ACTS = (list_lots, extend_lot, revoke_lot, show_statement)
