"""Price changes: announced as they are entered, in force after their notice, withdrawn before or never.

Rules of this file
1. Announcing and entering are one act: what is in the book can be read by everybody.
2. Whoever shortens the notice says why.
3. What is not named is taken from the price that a change follows in the book, in a preview as in the change itself.
   A whole row is put together here; where another price came between reading and booking, nothing is booked.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import msgspec

from tollkeeper.accounts.price_parts import (
    PriceRefused,
    check_nodes_know,
    checked_multiplier,
    checked_size,
    checked_tiers,
    merged,
)
from tollkeeper.accounts.price_sheet import has_multipliers, rewritten
from tollkeeper.accounts.price_usd import UsdPrices, figures_in_usd, with_usd
from tollkeeper.accounts.reasons import checked_reason
from tollkeeper.core.catalog.models import Kind, unit_of
from tollkeeper.core.money.parts import PriceParts
from tollkeeper.core.money.prices import MILLIONTHS, Price, in_force
from tollkeeper.ports import NewPrice, NotOnFile
from tollkeeper.ports.catalog.prices import (
    Entered,
    NewFigures,
    NewParts,
    Preview,
    PriceChange,
    PriceDesk,
    PriceRow,
    Ratio,
    Withdrawn,
)

PREVIEWED = timedelta(days=7)
ACCOUNTS_PREVIEWED_MOST = 20
# Nothing takes effect sooner: as `time_to_tell_nodes` in the database.
TO_TELL_NODES = timedelta(seconds=5)
# What a first price follows.
_NO_PRICE = Price(
    id=0,
    model_id="",
    effective_from=datetime.min.replace(tzinfo=UTC),
    model=0,
    completion=MILLIONTHS,
    cached=MILLIONTHS,
)


class PriceWish(msgspec.Struct, frozen=True, kw_only=True):
    """What an operator asks for."""

    model_id: str
    variant: str = ""
    figures: NewFigures = NewFigures()
    # Instead of multipliers.
    usd: UsdPrices = UsdPrices()
    effective_from: datetime | None = None
    forced_because: str | None = None


class Followed(msgspec.Struct, frozen=True):
    """What a change follows in the book, and the kind whose units it is for; None: the book has no such price."""

    price: Price | None
    unit: Kind | None


class EnteredPrice(msgspec.Struct, frozen=True):
    """A price change as it stands in the price book."""

    price: Price

    @property
    def price_id(self) -> int:
        return self.price.id

    @property
    def effective_from(self) -> datetime:
        return self.price.effective_from


async def enter_price_change(wish: PriceWish, notice: timedelta, desk: PriceDesk, *, actor: str) -> EnteredPrice:
    """Enter and announce a change. Raise PriceRefused, or NotOnFile."""
    # Also a forced change follows what holds when it takes effect: what was forced seconds ago is among that.
    ahead = TO_TELL_NODES if wish.forced_because else max(notice, TO_TELL_NODES)
    at = wish.effective_from or await desk.now() + ahead
    before = await _before(wish, at, desk)
    figures = _wished(wish, before)
    new = _changed(before.price or _NO_PRICE, figures)
    change = PriceChange(
        model_id=wish.model_id,
        variant=wish.variant,
        figures=_columns(before.price, figures, new),
        follows=(before.price or _NO_PRICE).id,
        effective_from=wish.effective_from,
        notice=notice,
        forced_because=None if wish.forced_because is None else checked_reason(wish.forced_because),
        parts=new.parts or PriceParts(),
    )
    await check_nodes_know(change.parts, desk)
    entry = await desk.enter(change, actor=actor)
    if entry.price is not None:
        return EnteredPrice(entry.price)
    if entry.verdict is Entered.UNKNOWN_MODEL:
        raise NotOnFile(f"There is no model '{wish.model_id}'. Nothing was entered.")
    raise PriceRefused(_why_not(entry.verdict, entry.effective_from, forced=change.forced_because is not None))


def _why_not(verdict: Entered, instant: datetime | None, *, forced: bool) -> str:
    at = "" if instant is None else f"{instant:%Y-%m-%d %H:%M:%S} UTC"
    if verdict is Entered.TAKEN:
        return (
            f"Another price takes effect at {at} already. Nothing was entered; withdraw that one, or name another time."
        )
    if verdict is Entered.NO_FIGURES:
        return "This model has no such price yet: say its multiplier. Nothing was entered."
    if verdict is Entered.OVERTAKEN:
        return (
            "Another price of this model was entered or withdrawn at the same moment, and this one would follow that. "
            "Nothing was entered. Look at the prices as they are now, and enter this one again."
        )
    hint = "Name a later time, or none, or force it with a reason"
    if forced:
        hint = "No price takes effect before every node knows of it"
    return f"That is too soon. The earliest is {at}. Nothing was entered. {hint}."


async def withdraw_price_change(price_id: int, reason: str, desk: PriceDesk, *, actor: str) -> Sequence[Price]:
    """Take back what was announced and has not taken effect. Raise PriceRefused, or NotOnFile.
    The announced prices that may have been entered on top of it: they stay as they are."""
    verdict = await desk.withdraw(price_id, checked_reason(reason), actor=actor)
    if verdict is Withdrawn.UNKNOWN:
        raise NotOnFile(f"There is no price {price_id}.")
    if verdict is Withdrawn.WITHDRAWN_BEFORE:
        raise PriceRefused(f"Price {price_id} was withdrawn before. Nothing was done.")
    if verdict is Withdrawn.IN_FORCE:
        raise PriceRefused(
            f"Price {price_id} is in force, or will be within seconds. Nothing was done; enter another one after it."
        )
    rows = await desk.rows(None)
    withdrawn = next(row.price for row in rows if row.price.id == price_id)
    return [row.price for row in rows if row.withdrawn_at is None and _is_on_top_of(row.price, withdrawn)]


def _is_on_top_of(price: Price, other: Price) -> bool:
    same = (price.model_id, price.variant) == (other.model_id, other.variant)
    return same and price.id > other.id and price.effective_from > other.effective_from


async def preview_price_change(
    wish: PriceWish, notice: timedelta, desk: PriceDesk, *, since: timedelta = PREVIEWED
) -> Preview:
    """What the calls of the last days would have cost, before this change and after it. Nothing is changed.
    Raise PriceRefused, or NotOnFile."""
    at = wish.effective_from or await desk.now() + max(notice, TO_TELL_NODES)
    before = await _before(wish, at, desk)
    figures = _wished(wish, before)
    old = before.price
    if old is None:
        raise NotOnFile(f"The model '{wish.model_id}' has no such price before {at:%Y-%m-%d %H:%M:%S} UTC.")
    return await desk.effect(old, _changed(old, figures), since, accounts_most=ACCOUNTS_PREVIEWED_MOST)


async def price_to_follow(model_id: str, variant: str, notice: timedelta, desk: PriceDesk) -> Price | None:
    """What a change of this price would follow, were it announced now."""
    at = await desk.now() + max(notice, TO_TELL_NODES)
    return _followed(await desk.rows(model_id), variant, at).price


def _wished(wish: PriceWish, before: Followed) -> NewFigures:
    """Raise PriceRefused."""
    if not wish.usd or before.unit is None:
        return wish.figures if wish.usd else checked_figures(wish.figures)
    return checked_figures(with_usd(wish.figures, figures_in_usd(wish.usd, before.unit, before.price)))


def checked_figures(figures: NewFigures) -> NewFigures:
    named = [figure for figure in (figures.model, figures.completion, figures.cached) if figure is not None]
    if not named and figures.parts == NewParts():
        raise PriceRefused("Say which multiplier or part becomes another one. Nothing was entered.")
    for figure in named:
        if isinstance(figure, Decimal):
            checked_multiplier(figure)
    return figures


async def _before(wish: PriceWish, at: datetime, desk: PriceDesk) -> Followed:
    """The price that a change at that time follows. Raise PriceRefused."""
    rows = await desk.rows(wish.model_id)
    prices = [row.price for row in rows if row.withdrawn_at is None]
    if prices and rows[0].kind is Kind.IMAGE:
        _check_way(wish, prices)
    return _followed(rows, wish.variant, at)


def _followed(rows: Sequence[PriceRow], variant: str, at: datetime) -> Followed:
    prices = [row.price for row in rows if row.withdrawn_at is None and row.price.effective_from < at]
    found = in_force(prices, at, variant)
    new = msgspec.structs.replace(_NO_PRICE, variant=variant)
    return Followed(found, unit_of(rows[0].kind, found or new) if rows else None)


def _check_way(wish: PriceWish, prices: Sequence[Price]) -> None:
    """Images are priced by token, or each by its size, and a model's calls are all counted in one of these ways. Raise
    PriceRefused."""
    if wish.variant and not any(price.variant for price in prices):
        raise PriceRefused(
            f"'{wish.model_id}' is priced by token: a price for a size would charge all of its calls by size. Nothing "
            "was entered; leave the variant out, or offer images by size as another model."
        )
    if not wish.variant and all(price.variant for price in prices):
        raise PriceRefused(f"'{wish.model_id}' is priced by size: name the size as its variant. Nothing was entered.")
    if wish.variant and all(price.variant != wish.variant for price in prices):
        size = checked_size(wish.variant)
        if size != wish.variant:
            raise PriceRefused(f"'{wish.variant}' is written as '{size}' in the book. Nothing was entered.")


def first_price(figures: NewFigures) -> NewPrice:
    """The price of a new model. Raise PriceRefused."""
    new = _changed(_NO_PRICE, figures)
    model, completion, cached = (Decimal(each) / MILLIONTHS for each in (new.model, new.completion, new.cached))
    parts = None if new.parts == PriceParts() else new.parts
    return NewPrice(model=model, completion=completion, cached=cached, parts=parts)


def _columns(before: Price | None, figures: NewFigures, new: Price) -> NewFigures:
    """The three multipliers to book, all of them: but for a first price without one for the model, which is refused."""
    model, completion, cached = (Decimal(each) / MILLIONTHS for each in (new.model, new.completion, new.cached))
    is_said = before is not None or figures.model is not None
    return NewFigures(model=model if is_said else None, completion=completion, cached=cached)


def _changed(price: Price, figures: NewFigures) -> Price:
    """Raise PriceRefused."""
    if not has_multipliers(price, figures):
        return checked_tiers(rewritten(price, figures))
    new = msgspec.structs.replace(
        price,
        model=_or_as_it_is(figures.model, price.model),
        completion=_or_as_it_is(figures.completion, price.completion),
        cached=_or_as_it_is(figures.cached, price.cached),
        parts=price.parts if figures.parts == NewParts() else merged(price.parts, figures.parts),
    )
    return checked_tiers(new)


def _or_as_it_is(figure: Ratio | None, before: int) -> int:
    return before if figure is None else checked_multiplier(figure)
