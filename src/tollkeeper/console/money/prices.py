"""Prices: what every model costs now, what is announced, and what it used to cost.

Rules of this file
1. A price has four digits, and two decimals or more; the exact one is where the pointer rests.
2. What is shown in USD is computed by the formula that charges calls.
3. Prices are those of the visitor's own group. Where it has another multiplier than the published list, that list's
   price stands beside them.
"""

from collections.abc import Mapping
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from functools import partial

import msgspec
from markupsafe import Markup
from starlette.responses import Response

from tollkeeper.console.figures import exact, number
from tollkeeper.console.pages import get
from tollkeeper.console.visit import Visit
from tollkeeper.console.words import marked
from tollkeeper.core.catalog.models import Kind, unit_of
from tollkeeper.core.catalog.price_book import COUNTED, Announced, PricedModel, unit_cost
from tollkeeper.core.catalog.priced import CACHED, OUTPUT, PricedItem, beyond_plain, cost
from tollkeeper.core.money.amounts import UNITS_PER_USD, Quota
from tollkeeper.core.money.parts import Part
from tollkeeper.core.money.price_words import multiplier
from tollkeeper.core.money.prices import Price
from tollkeeper.ports import NotOnFile

DIGITS = 4
# Tokens are told by the million, as in the head of the table.
ITEMS: Mapping[str, str] = {
    "input": marked("Input"),
    "cached": marked("Cached"),
    "output": marked("Output"),
    Part.WRITTEN_5M: marked("Written to cache for 5 minutes"),
    Part.WRITTEN_1H: marked("Written to cache for an hour"),
    Part.IMAGE_INPUT: marked("Image input"),
    Part.AUDIO_INPUT: marked("Audio input"),
    Part.IMAGE_OUTPUT: marked("Image output"),
    Part.AUDIO_OUTPUT: marked("Audio output"),
    "call": marked("Each call"),
}
USE = marked("Each use of %(tool)s")
LONG = marked("%(item)s, of calls above %(tokens)s input tokens")


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What a price is in USD: of chat, a million tokens; of others, as the book counts them."""

    # Input tokens, or whatever else is counted.
    unit: Quota
    cached: Quota = Quota(0)
    output: Quota = Quota(0)
    # What else the row has a figure for.
    beyond: tuple["ItemCost", ...] = ()


class ItemCost(msgspec.Struct, frozen=True):
    item: PricedItem
    amount: Quota


class ItemChange(msgspec.Struct, frozen=True):
    """What an item costs before and after a change, whether it has a figure of its own there or not."""

    item: PricedItem
    old: Quota
    new: Quota


class Groups(msgspec.Struct, frozen=True):
    """The multipliers that count here: the visitor's own, and the one of the published list."""

    own: int
    listed: int

    def line(self, model: PricedModel, row: Announced, before: Price | None = None) -> "Line":
        own, listed = (figures_of(model.kind, row.price, group) for group in (self.own, self.listed))
        earlier = None if before is None else figures_of(model.kind, before, self.own)
        changes = () if before is None else _changes(before, row.price, self.own)
        return Line(model=model, row=row, figures=own, listed=listed, before=earlier, changes=changes)


class Line(msgspec.Struct, frozen=True, kw_only=True):
    model: PricedModel
    row: Announced
    figures: Figures
    # By the published list.
    listed: Figures
    # What it follows, of a price that is to come.
    before: Figures | None = None
    # Beyond input, cached and output.
    changes: tuple[ItemChange, ...] = ()

    @property
    def unit(self) -> Kind:
        return unit_of(self.model.kind, self.row.price)


async def show(visit: Visit) -> Response:
    book, groups, now = await visit.price_book(), await _groups(visit), visit.desks.now()
    wanted = visit.query.get("q", "").strip()[:100]
    models = [model for model in book.models if wanted.lower() in model.id.lower()]
    lines = [groups.line(model, row) for model in models for row in model.current(now)]
    coming = sorted(
        (line for model in models for line in _coming(groups, model, now)),
        key=lambda line: (line.row.price.effective_from, line.model.id),
    )
    return visit.page(
        "money/prices.html",
        chat=[line for line in lines if line.unit is Kind.CHAT],
        media=[line for line in lines if line.unit is not Kind.CHAT],
        coming=coming,
        wanted=wanted,
        groups=groups,
        factor=multiplier(groups.own),
        price=price_cell,
        item_name=partial(item_name, visit),
    )


async def show_one(visit: Visit) -> Response:
    book, groups, now = await visit.price_book(), await _groups(visit), visit.desks.now()
    wanted = visit.request.path_params["model_id"]
    model = next((model for model in book.models if model.id == wanted), None)
    if model is None:
        raise NotOnFile("There is no such model.")
    past = sorted(model.past(now), key=lambda row: row.price.effective_from, reverse=True)
    return visit.page(
        "money/price_history.html",
        model=model,
        unit_kind=unit_of(model.kind, model.rows[0].price),
        current=[groups.line(model, row) for row in model.current(now)],
        coming=_coming(groups, model, now),
        past=[groups.line(model, row) for row in past],
        groups=groups,
        factor=multiplier(groups.own),
        price=price_cell,
        item_name=partial(item_name, visit),
    )


async def _groups(visit: Visit) -> Groups:
    own, listed = await visit.price_book(), await visit.desks.price_list.published()
    return Groups(own.group, listed.group)


def figures_of(kind: Kind, price: Price, group: int) -> Figures:
    unit = unit_cost(kind, price, group)
    beyond = tuple(ItemCost(item, cost(item, price, group)) for item in beyond_plain(price))
    if unit_of(kind, price) in COUNTED:
        return Figures(unit=unit, beyond=beyond)
    cached, output = (cost(PricedItem(name), price, group) for name in (CACHED, OUTPUT))
    return Figures(unit=unit, cached=cached, output=output, beyond=beyond)


def item_name(visit: Visit, item: PricedItem) -> str:
    """In the visitor's language."""
    name = visit.gettext(USE, tool=item.name) if item.is_tool else visit.gettext(ITEMS[item.name])
    if not item.above_tokens:
        return name
    return visit.gettext(LONG, item=name, tokens=number(item.above_tokens, visit.language))


def _changes(old: Price, new: Price, group: int) -> tuple[ItemChange, ...]:
    items = dict.fromkeys((*beyond_plain(old), *beyond_plain(new)))
    costs = (ItemChange(item, cost(item, old, group), cost(item, new, group)) for item in items)
    return tuple(change for change in costs if change.old != change.new)


def price_usd(amount: Quota) -> str:
    """`$0.075`, `$2.50`, `$1,234.00`."""
    usd = Decimal(amount) / UNITS_PER_USD
    last = min(-2, usd.adjusted() - DIGITS + 1)
    text = f"{usd.quantize(Decimal(1).scaleb(last), ROUND_HALF_UP):,f}"
    whole, _, decimals = text.partition(".")
    return f"${whole}.{decimals[:2]}{decimals[2:].rstrip('0')}"


def price_cell(amount: Quota) -> Markup:
    return Markup('<span title="{}">{}</span>').format(exact(amount), price_usd(amount))


def _coming(groups: Groups, model: PricedModel, now: datetime) -> list[Line]:
    """Each with the price of the same variant that it follows."""
    found: list[Line] = []
    last = {row.price.variant: row.price for row in model.current(now)}
    for row in sorted(model.upcoming(now), key=lambda row: row.price.effective_from):
        found.append(groups.line(model, row, last.get(row.price.variant)))
        last[row.price.variant] = row.price
    return found


PAGES = (get("/prices", show), get("/prices/{model_id:path}", show_one))
