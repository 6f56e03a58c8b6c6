"""Prices as people think of them: USD for a million tokens, an image, a minute; turned into multipliers of the book.

Rules of this file
1. What is typed is what is charged. What something costs by the price of input is kept as a fraction, and how the book
   writes it is for `price_sheet` to say. A price with more decimals than the book has is refused, with the nearest
   prices that it can hold.
2. What is not named keeps its price in USD, also where the input's price becomes another one. What has no price of its
   own costs what plain input or output does, before and after. A new model has no price to keep: there it is left to
   what is usual.
"""

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from tollkeeper.accounts.price_parts import PriceRefused, checked_multiplier
from tollkeeper.accounts.price_sheet import USD_OF_ONE, sheet_of, tier_costs, usd_typed_like
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.catalog.price_book import COUNTED
from tollkeeper.core.catalog.priced import CACHED, INPUT, OUTPUT
from tollkeeper.core.money.amounts import QUOTA_TOKENS_PER_USD, plain_decimal
from tollkeeper.core.money.parts import Part
from tollkeeper.core.money.prices import MILLIONTHS, Price
from tollkeeper.ports.catalog.prices import NewFigures, NewParts, NewTier, Ratio

UNIT = "unit"
# What has this for a price has none of its own from then on.
NONE = "none"
# Of how many of its units a price is typed, by the kind whose units it is for; and what so many are called.
TYPED: Mapping[Kind, tuple[int, str]] = {
    Kind.CHAT: (MILLIONTHS, "a million input tokens"),
    Kind.EMBEDDING: (MILLIONTHS, "a million input tokens"),
    Kind.IMAGE: (1, "an image"),
    Kind.SPEECH: (MILLIONTHS, "a million characters"),
    Kind.TRANSCRIPTION: (60, "a minute"),
}
WORDS: Mapping[str, str] = {
    CACHED: "a million cached input tokens",
    OUTPUT: "a million output tokens",
    Part.WRITTEN_5M: "a million tokens written to a cache for 5 minutes",
    Part.WRITTEN_1H: "a million tokens written to a cache for an hour",
    Part.IMAGE_INPUT: "a million image input tokens",
    Part.AUDIO_INPUT: "a million audio input tokens",
    Part.IMAGE_OUTPUT: "a million image output tokens",
    Part.AUDIO_OUTPUT: "a million audio output tokens",
}
CAN_BE_NONE = frozenset({CACHED, *(part.value for part in Part)})


class UsdPrices(msgspec.Struct, frozen=True):
    """Prices as they are typed, by `unit`, `cached`, `output` and the names of parts; and those of tiers, by the length
    of input above which they hold, with `unit`, `output` and `cached`. An empty tier ends."""

    row: Mapping[str, str] = msgspec.field(default_factory=dict)
    tiers: Mapping[int, Mapping[str, str]] = msgspec.field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.row or self.tiers)


def figures_in_usd(prices: UsdPrices, unit: Kind, before: Price | None) -> NewFigures:
    """How many input tokens each thing costs, where it costs so many USD. `unit`: the kind whose units the price is
    for. Raise PriceRefused."""
    usd = prices.row
    named = {name: _typed(text) for name, text in usd.items() if not (text == NONE and name in CAN_BE_NONE)}
    only_unit = unit in COUNTED
    if only_unit and (prices.tiers or set(usd) - {UNIT}):
        raise PriceRefused(f"This model has one price, for {TYPED[unit][1]}. Nothing was entered.")
    if UNIT not in named and before is None:
        raise PriceRefused(f"Say what {TYPED[unit][1]} costs in USD. Nothing was entered.")
    model = unit_multiplier(named[UNIT], unit) if UNIT in named else _input_of(before)
    if only_unit:
        return NewFigures(model=model)
    ratios: dict[str, Ratio | None] = {name: _ratio(name, each, model) for name, each in named.items() if name != UNIT}
    ratios |= _kept(before, model, set(usd)) | {name: None for name in usd if name not in named}
    parts = {part.value: ratios.get(part.value, UNSET) for part in Part}
    tiers = {length: _tier(tier) for length, tier in prices.tiers.items()}
    if before is not None and ratios:
        tiers = _kept_tiers(before, ratios) | tiers
    return NewFigures(
        model=model,
        completion=ratios.get(OUTPUT),
        cached=Decimal(1) if usd.get(CACHED) == NONE else ratios.get(CACHED),
        parts=replace(NewParts(), **parts, tiers=tiers),
    )


def with_usd(figures: NewFigures, in_usd: NewFigures) -> NewFigures:
    """What was named in USD, with what is not a multiplier: amounts and tiers. Raise PriceRefused."""
    own = figures.parts
    beside = NewParts(per_call=own.per_call, tools=own.tools, tiers=own.tiers)
    if figures != NewFigures(parts=beside):
        raise PriceRefused("Name prices in USD or as multipliers, not both. Nothing was entered.")
    # Among those in USD are the tiers that nobody named, as they were.
    tiers = {**in_usd.parts.tiers, **own.tiers}
    parts = replace(in_usd.parts, per_call=own.per_call, tools=own.tools, tiers=tiers)
    return replace(in_usd, parts=parts)


def unit_multiplier(usd: Decimal, unit: Kind) -> Decimal:
    """Quota tokens for one unit. Raise PriceRefused."""
    units, what = TYPED[unit]
    per_usd = Fraction(QUOTA_TOKENS_PER_USD, units)
    return _exactly(Fraction(usd) * per_usd, what, usd, 1 / per_usd)


def usd_of(price: Price, unit: Kind) -> dict[str, str]:
    """A price as it would be typed: what has a figure of its own, by the names of `figures_in_usd`."""
    row = dict(sheet_of(price).row)
    one = row.pop(INPUT) * TYPED[unit][0] / QUOTA_TOKENS_PER_USD
    others = {} if unit in COUNTED else {name: cost * USD_OF_ONE for name, cost in row.items()}
    return {name: usd_typed_like(each) for name, each in {UNIT: one, **others}.items()}


def usd_of_tiers(price: Price) -> dict[int, dict[str, str]]:
    """What calls with more input cost, as it would be typed: input, cached input and output, by their lengths."""
    names = {INPUT: UNIT, CACHED: CACHED, OUTPUT: OUTPUT}
    return {
        length: {names[name]: usd_typed_like(cost * USD_OF_ONE) for name, cost in costs.items() if name in names}
        for length, costs in tier_costs(price).items()
    }


def usd_price_typed(text: str) -> Decimal:
    """USD, which may be nothing. Raise PriceRefused."""
    return _typed(text)


def _typed(text: str) -> Decimal:
    found = plain_decimal(text)
    if found is None or found < 0:
        raise PriceRefused(f"'{text}' is not a price in USD. Write it like 2.50. Nothing was entered.")
    return found


def _input_of(before: Price | None) -> Decimal:
    cost = Fraction(0) if before is None else sheet_of(before).row[INPUT]
    return Decimal(cost.numerator) / cost.denominator


def _kept(before: Price | None, model: Decimal, named: set[str]) -> dict[str, Ratio | None]:
    """What nobody named, by the new price of input: each costs as many USD as it did."""
    if before is None or _input_of(before) == model:
        return {}
    row = {name: cost for name, cost in sheet_of(before).row.items() if name != INPUT and name not in named}
    return {name: _ratio(name, cost * USD_OF_ONE, model) for name, cost in row.items()}


def _kept_tiers(before: Price, ratios: Mapping[str, Ratio | None]) -> dict[int, NewTier | None]:
    """The tiers that there are, as they are: what they have by the row's multipliers costs as many USD as it did.
    `ratios`: what becomes another multiple of input in the row; a part that ends there ends in tiers too."""
    row = sheet_of(before).row
    shares: dict[str, Ratio | None] = {name: cost / row[INPUT] for name, cost in row.items() if row[INPUT]}
    shares.update(ratios)
    own = {part.value for part in Part if shares.get(part.value) is not None}
    found: dict[int, NewTier | None] = {}
    for length, usd in tier_costs(before).items():
        one = usd[INPUT]
        output, cached = (usd.get(name, one) / one if one else None for name in (OUTPUT, CACHED))
        model = Decimal(one.numerator) / one.denominator
        by_input = {name: cost / one for name, cost in usd.items() if one and name in own}
        parts = {name: share for name, share in by_input.items() if share != shares[name]}
        found[length] = NewTier(model=model, completion=output, cached=cached, parts=parts)
    return found


def _ratio(name: str, usd: Decimal | Fraction, model: Decimal) -> Fraction:
    """How many input tokens one of these costs."""
    if model == 0:
        if usd:
            raise PriceRefused(
                f"Input is free, and {WORDS[name]} cannot cost {usd_typed_like(Fraction(usd))} USD then: the book "
                "counts in input tokens. Nothing was entered. Give input a price, or price each call."
            )
        return Fraction(1)
    return Fraction(usd) / (USD_OF_ONE * Fraction(model))


def _tier(usd: Mapping[str, str]) -> NewTier | None:
    """Raise PriceRefused."""
    named = {name: _typed(text) for name, text in usd.items() if not (text == NONE and name == CACHED)}
    if not usd:
        return None
    if UNIT not in named:
        raise PriceRefused("Say what a million input tokens costs in a tier, in USD. Nothing was entered.")
    model = unit_multiplier(named[UNIT], Kind.CHAT)
    found = {name: _ratio(name, named[name], model) for name in (OUTPUT, CACHED) if name in named}
    cached = Fraction(1) if usd.get(CACHED) == NONE else found.get(CACHED)
    return NewTier(model=model, completion=found.get(OUTPUT), cached=cached)


def _exactly(multiplier: Fraction, what: str, usd: Decimal, usd_of_one: Fraction) -> Decimal:
    """With at most six decimals, and not rounded."""
    scaled = multiplier * MILLIONTHS
    if scaled.denominator != 1:
        below = Fraction(scaled.numerator // scaled.denominator, MILLIONTHS)
        near = (usd_typed_like(each * usd_of_one) for each in (below, below + Fraction(1, MILLIONTHS)))
        raise PriceRefused(
            f"{usd_typed_like(Fraction(usd))} USD for {what} would have to be rounded: the book has six decimals of a "
            f"multiplier. Nothing was entered. Exact are {' and '.join(near)} USD."
        )
    found = Decimal(int(scaled)) / MILLIONTHS
    checked_multiplier(found)
    return found
