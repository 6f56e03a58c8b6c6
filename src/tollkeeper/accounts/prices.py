"""Price changes: announced as they are entered, in force after their notice, withdrawn before or never.

Rules of this file
1. Announcing and entering are one act: what is in the book can be read by everybody.
2. Whoever shortens the notice says why.
3. What is not named is taken from the price that a change follows in the book, in a preview as in the change itself.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal

import msgspec

from tollkeeper.accounts.reasons import checked_reason
from tollkeeper.core.prices import Price, in_force, millionths
from tollkeeper.ports import NotOnFile
from tollkeeper.ports.prices import Entered, NewFigures, Preview, PriceChange, PriceDesk, Withdrawn

MULTIPLIER_BELOW = 10**8
PREVIEWED = timedelta(days=7)
ACCOUNTS_PREVIEWED_MOST = 20


class PriceRefused(ValueError):
    """A price that was not entered or not withdrawn; the message says why."""


class PriceWish(msgspec.Struct, frozen=True, kw_only=True):
    """What an operator asks for."""

    model_id: str
    variant: str = ""
    figures: NewFigures
    effective_from: datetime | None = None
    forced_because: str | None = None


class EnteredPrice(msgspec.Struct, frozen=True):
    """As it stands in the book."""

    price: Price

    @property
    def price_id(self) -> int:
        return self.price.id

    @property
    def effective_from(self) -> datetime:
        return self.price.effective_from


async def enter_price_change(wish: PriceWish, notice: timedelta, desk: PriceDesk, *, actor: str) -> EnteredPrice:
    """Enter and announce a change. Raise PriceRefused, or NotOnFile."""
    change = PriceChange(
        model_id=wish.model_id,
        variant=wish.variant,
        figures=checked_figures(wish.figures),
        effective_from=wish.effective_from,
        notice=notice,
        forced_because=None if wish.forced_because is None else checked_reason(wish.forced_because),
    )
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


async def preview_price_change(wish: PriceWish, notice: timedelta, desk: PriceDesk) -> Preview:
    """What the calls of the last seven days would have cost, before this change and after it. Nothing is changed.
    Raise PriceRefused, or NotOnFile."""
    figures = checked_figures(wish.figures)
    at = wish.effective_from or await desk.now() + notice
    prices = [row.price for row in await desk.rows(wish.model_id) if row.withdrawn_at is None]
    old = in_force([price for price in prices if price.effective_from < at], at, wish.variant)
    if old is None:
        raise NotOnFile(f"The model '{wish.model_id}' has no such price before {at:%Y-%m-%d %H:%M:%S} UTC.")
    return await desk.effect(old, _changed(old, figures), PREVIEWED, accounts_most=ACCOUNTS_PREVIEWED_MOST)


def checked_figures(figures: NewFigures) -> NewFigures:
    named = [figure for figure in (figures.model, figures.completion, figures.cached) if figure is not None]
    if not named:
        raise PriceRefused("Say which multiplier becomes another one. Nothing was entered.")
    for figure in named:
        if not figure.is_finite() or not 0 <= figure < MULTIPLIER_BELOW or figure != round(figure, 6):
            raise PriceRefused(f"{figure} is not a multiplier: a number of 0 or more with at most six decimals.")
    return figures


def _changed(price: Price, figures: NewFigures) -> Price:
    return msgspec.structs.replace(
        price,
        model=_or_as_it_is(figures.model, price.model),
        completion=_or_as_it_is(figures.completion, price.completion),
        cached=_or_as_it_is(figures.cached, price.cached),
    )


def _or_as_it_is(figure: Decimal | None, before: int) -> int:
    return before if figure is None else millionths(figure)
