"""The price book: what every model costs, what is announced, and what was.

Rules of this file
1. What is in the book is announced; whoever shortens the notice says why. Nothing in it is ever changed or taken out.
2. A receipt keeps the price that its call was admitted under, whatever is entered or withdrawn later.
"""

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Annotated

import msgspec

from tollkeeper.accounts.prices import PriceWish, enter_price_change, preview_price_change, withdraw_price_change
from tollkeeper.accounts.reasons import checked_reason
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.money.prices import MILLIONTHS, millionths
from tollkeeper.core.people.logins import Actor
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.act import act
from tollkeeper.office.desks import Office
from tollkeeper.office.instants import Instant, in_reach
from tollkeeper.office.lists import Listed, Paging, listed
from tollkeeper.office.price_views import (
    EffectView,
    PriceFigures,
    PriceView,
    effect_view,
    figures_view,
    price_view,
)
from tollkeeper.office.price_wishes import FiguresWish, figures_wished
from tollkeeper.office.wishes import ROW_MOST, ReasonText
from tollkeeper.ports import NotOnFile
from tollkeeper.ports.catalog.desk import ModelQuery
from tollkeeper.ports.catalog.prices import PriceQuery, PriceTime

DAYS_MOST = 30

ModelId = Annotated[str, msgspec.Meta(min_length=1, max_length=128, description="The model's id.")]
GroupOrNone = Annotated[str, msgspec.Meta(max_length=64, description="Whose multiplier USD include; empty: none.")]
Variant = Annotated[str, msgspec.Meta(max_length=60, description="Of an image, its size and quality: `1792x1024 hd`.")]


class PricesWish(Paging, frozen=True, kw_only=True):
    group: GroupOrNone = ""
    time: PriceTime = PriceTime.STANDING


class PriceHistoryWish(Paging, frozen=True, kw_only=True):
    model: ModelId
    group: GroupOrNone = ""


class PriceChangeWish(FiguresWish, frozen=True, kw_only=True):
    model: ModelId
    variant: Variant = ""
    # None: as soon as the notice allows.
    effective_from: Instant | None = None


class PricePreviewWish(PriceChangeWish, frozen=True, kw_only=True):
    days: Annotated[int, msgspec.Meta(ge=1, le=DAYS_MOST, description="Over the calls of so many days.")] = 7


class NewPriceWish(PriceChangeWish, frozen=True, kw_only=True):
    # None: it waits for its notice.
    forced_because: ReasonText | None = None
    reason: ReasonText = ""


class PriceNumber(msgspec.Struct, frozen=True, kw_only=True):
    price: Annotated[int, msgspec.Meta(ge=1, le=ROW_MOST, description="The price's number.")]
    reason: ReasonText


class EnteredView(msgspec.Struct, frozen=True, kw_only=True):
    price_id: int
    price: PriceFigures


class PricePreview(msgspec.Struct, frozen=True, kw_only=True):
    """What the calls of the last days would have cost. `dearer_for`: how many accounts would have paid more. Where
    `calls_in_all` is more than the calls of `total`, these are a sample, and all figures are of it alone."""

    old: PriceFigures
    new: PriceFigures
    total: EffectView
    calls_in_all: int
    # Those for whom it makes the most difference, and how many there are in all.
    accounts: Sequence[EffectView]
    accounts_in_all: int
    dearer_for: int
    cheaper_for: int


class WithdrawnView(msgspec.Struct, frozen=True, kw_only=True):
    price_id: int
    # Announced prices that may have been entered on top of it: they stay as they are.
    look_at: Sequence[EnteredView]


@act("GET", "/prices", Scope.READ)
async def list_prices(office: Office, wish: PricesWish, by: Actor) -> Listed[PriceView]:
    """What every model costs now, and what is announced; or what it used to cost."""
    return await _page(office, wish, PriceQuery(time=wish.time))


@act("GET", "/prices/history", Scope.READ)
async def list_price_history(office: Office, wish: PriceHistoryWish, by: Actor) -> Listed[PriceView]:
    """Every price a model ever had, was to have, or will have."""
    page = await _page(office, wish, PriceQuery(models=[wish.model]))
    if not page.data and not wish.after:
        raise NotOnFile(f"There is no model '{wish.model}', or it has no price.")
    return page


@act("POST", "/prices", Scope.CATALOG)
async def enter_price(office: Office, wish: NewPriceWish, by: Actor) -> EnteredView:
    """Enter a price change, which announces it. What is not named stays as it is."""
    forced = None if wish.forced_because is None else checked_reason(wish.forced_because)
    change = msgspec.structs.replace(_change(wish), forced_because=forced)
    kind = await _kind(office, wish.model)
    entered = await enter_price_change(change, office.price_notice, office.prices, actor=by.name)
    return EnteredView(price_id=entered.price_id, price=figures_view(kind, entered.price))


@act("POST", "/prices/preview", Scope.CATALOG)
async def preview_price(office: Office, wish: PricePreviewWish, by: Actor) -> PricePreview:
    """What the calls of the last days would have cost before a change, and after it. Nothing is changed."""
    kind = await _kind(office, wish.model, even_hidden=True)
    found = await preview_price_change(
        _change(wish), office.price_notice, office.prices, since=timedelta(days=wish.days)
    )
    return PricePreview(
        old=figures_view(kind, found.old),
        new=figures_view(kind, found.new),
        total=effect_view(found.total),
        calls_in_all=found.calls_in_all,
        accounts=[effect_view(each) for each in found.accounts],
        accounts_in_all=found.accounts_in_all,
        dearer_for=found.dearer_for,
        cheaper_for=found.cheaper_for,
    )


@act("POST", "/prices/{price}/withdraw", Scope.CATALOG)
async def withdraw_price(office: Office, wish: PriceNumber, by: Actor) -> WithdrawnView:
    """Withdraw a change that is announced and has not taken effect. Whoever had a mail of it gets another."""
    later = await withdraw_price_change(wish.price, wish.reason, office.prices, actor=by.name)
    kinds = {price.model_id: await _kind(office, price.model_id, even_hidden=True) for price in later}
    look_at = [EnteredView(price_id=each.id, price=figures_view(kinds[each.model_id], each)) for each in later]
    return WithdrawnView(price_id=wish.price, look_at=look_at)


async def group_millionths(office: Office, name: str) -> int:
    """The multiplier of a group; 1 where none is named. Raise NotOnFile."""
    if not name:
        return MILLIONTHS
    for group in await office.groups.groups():
        if group.name == name:
            return millionths(Decimal(group.multiplier))
    raise NotOnFile(f"There is no group '{name}'.")


async def _page(office: Office, wish: PricesWish | PriceHistoryWish, query: PriceQuery) -> Listed[PriceView]:
    group = await group_millionths(office, wish.group)
    now = await office.prices.now()
    rows = await office.prices.page(query, after_id=wish.after_row(), limit=wish.limit + 1)
    return listed([price_view(row, now, group) for row in rows], wish.limit, lambda row: row.price_id)


def _change(wish: PriceChangeWish) -> PriceWish:
    at = None if wish.effective_from is None else in_reach(wish.effective_from)
    figures = figures_wished(wish)
    usd = wish.usd.typed()
    return PriceWish(model_id=wish.model, variant=wish.variant, figures=figures, usd=usd, effective_from=at)


async def _kind(office: Office, model_id: str, *, even_hidden: bool = False) -> Kind:
    """Raise NotOnFile."""
    found = await office.catalog.models(ModelQuery(model_id=model_id), after=None, limit=1)
    if not found:
        raise NotOnFile(f"There is no model '{model_id}'. Nothing was entered.")
    if found[0].hidden_at is not None and not even_hidden:
        raise NotOnFile(f"The model '{model_id}' is hidden. Unhide it first. Nothing was entered.")
    return found[0].kind


ACTS = (list_prices, list_price_history, enter_price, preview_price, withdraw_price)
