"""Prices as people think of them: USD for a million tokens, an image, a minute; turned into multipliers of the book.

Rules of this file
1. A price is turned into multipliers exactly, or refused: what is typed is what is charged. The refusal names the
   nearest prices that the book can hold.
2. What is not named keeps its price in USD, also where the input's price becomes another one. What has no price of its
   own costs what plain input or output does, before and after. A new model has no price to keep: there it is left to
   what is usual.
"""

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction

from msgspec import UNSET
from msgspec.structs import replace

from tollkeeper.accounts.price_parts import PriceRefused, checked_multiplier
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.catalog.price_book import COUNTED
from tollkeeper.core.catalog.priced import CACHED, OUTPUT
from tollkeeper.core.money.amounts import QUOTA_TOKENS_PER_USD, plain_decimal
from tollkeeper.core.money.parts import Part
from tollkeeper.core.money.prices import MILLIONTHS, Price
from tollkeeper.ports.catalog.prices import NewFigures, NewParts

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


def figures_in_usd(usd: Mapping[str, str], unit: Kind, before: Price | None) -> NewFigures:
    """The multipliers that cost so many USD. `usd`: by `unit`, `cached`, `output` and the names of parts; `unit`: the
    kind whose units the price is for. Raise PriceRefused."""
    named = {name: _typed(text) for name, text in usd.items() if not (text == NONE and name in CAN_BE_NONE)}
    only_unit = unit in COUNTED
    if only_unit and set(usd) - {UNIT}:
        raise PriceRefused(f"This model has one price, for {TYPED[unit][1]}. Nothing was entered.")
    if UNIT not in named and before is None:
        raise PriceRefused(f"Say what {TYPED[unit][1]} costs in USD. Nothing was entered.")
    model = unit_multiplier(named[UNIT], unit) if UNIT in named else _decimal(before.model if before else 0)
    if only_unit:
        return NewFigures(model=model)
    ratios: dict[str, Decimal | None] = {
        name: _ratio(name, each, model) for name, each in named.items() if name != UNIT
    }
    ratios |= _kept(before, model, set(usd)) | {name: None for name in usd if name not in named}
    parts = {part.value: ratios.get(part.value, UNSET) for part in Part}
    return NewFigures(
        model=model,
        completion=ratios.get(OUTPUT),
        cached=Decimal(1) if usd.get(CACHED) == NONE else ratios.get(CACHED),
        parts=replace(NewParts(), **parts),
    )


def with_usd(figures: NewFigures, in_usd: NewFigures) -> NewFigures:
    """What was named in USD, with what is not a multiplier: amounts and tiers. Raise PriceRefused."""
    own = figures.parts
    beside = NewParts(per_call=own.per_call, tools=own.tools, tiers=own.tiers)
    if figures != NewFigures(parts=beside):
        raise PriceRefused("Name prices in USD or as multipliers, not both. Nothing was entered.")
    parts = replace(in_usd.parts, per_call=own.per_call, tools=own.tools, tiers=own.tiers)
    return replace(in_usd, parts=parts)


def unit_multiplier(usd: Decimal, unit: Kind) -> Decimal:
    """Quota tokens for one unit. Raise PriceRefused."""
    units, what = TYPED[unit]
    per_usd = Fraction(QUOTA_TOKENS_PER_USD, units)
    return _exactly(Fraction(usd) * per_usd, what, usd, 1 / per_usd)


def usd_of(price: Price, unit: Kind) -> dict[str, str]:
    """A price as it would be typed: what has a figure of its own, by the names of `figures_in_usd`."""
    units = TYPED[unit][0]
    one = Fraction(price.model * units, MILLIONTHS * QUOTA_TOKENS_PER_USD)
    found = {UNIT: one}
    if unit not in COUNTED:
        found |= {name: one * ratio / MILLIONTHS for name, ratio in _ratios(price).items()}
    return {name: _text(each) for name, each in found.items()}


def usd_price_typed(text: str) -> Decimal:
    """USD, which may be nothing. Raise PriceRefused."""
    return _typed(text)


def _typed(text: str) -> Decimal:
    found = plain_decimal(text)
    if found is None or found < 0:
        raise PriceRefused(f"'{text}' is not a price in USD. Write it like 2.50. Nothing was entered.")
    return found


def _ratios(price: Price) -> dict[str, int]:
    """What has a price of its own, by the price of input. Cached input that costs what input does has none."""
    parts = {} if price.parts is None else {part.value: getattr(price.parts, part.value) for part in Part}
    set_ones = {name: own for name, own in parts.items() if own is not None}
    cached = {} if price.cached == MILLIONTHS else {CACHED: price.cached}
    return {**cached, OUTPUT: price.completion, **set_ones}


def _kept(before: Price | None, model: Decimal, named: set[str]) -> dict[str, Decimal | None]:
    """What nobody named, by the new price of input: each costs as many USD as it did."""
    if before is None or _decimal(before.model) == model:
        return {}
    one = 2 * Fraction(before.model, MILLIONTHS)
    return {
        name: _ratio(name, one * ratio / MILLIONTHS, model)
        for name, ratio in _ratios(before).items()
        if name not in named
    }


def _ratio(name: str, usd: Decimal | Fraction, model: Decimal) -> Decimal:
    """How many input tokens one of these costs."""
    if model == 0:
        if usd:
            raise PriceRefused(
                f"Input is free, and {WORDS[name]} cannot cost {_text(Fraction(usd))} USD then: the book counts in "
                "input tokens. Nothing was entered. Give input a price, or price each call."
            )
        return Decimal(1)
    input_usd = 2 * Fraction(model)
    return _exactly(Fraction(usd) / input_usd, WORDS[name], usd, input_usd)


def _exactly(multiplier: Fraction, what: str, usd: Decimal | Fraction, usd_of_one: Fraction) -> Decimal:
    """With at most six decimals, and not rounded."""
    scaled = multiplier * MILLIONTHS
    if scaled.denominator != 1:
        below = Fraction(scaled.numerator // scaled.denominator, MILLIONTHS)
        near = (_text(each * usd_of_one) for each in (below, below + Fraction(1, MILLIONTHS)))
        raise PriceRefused(
            f"{_text(Fraction(usd))} USD for {what} would have to be rounded: the book has six decimals of a "
            f"multiplier. Nothing was entered. Exact are {' and '.join(near)} USD."
        )
    found = Decimal(int(scaled)) / MILLIONTHS
    checked_multiplier(found)
    return found


def _decimal(millionths: int) -> Decimal:
    return Decimal(millionths) / MILLIONTHS


def _text(usd: Fraction) -> str:
    """`2.50`, `0.0375`: at least two decimals; all of them, where they end."""
    digits = 12
    scaled = usd * 10**digits
    text = f"{Decimal(round(scaled)).scaleb(-digits):f}"
    whole, _, decimals = text.partition(".")
    told = f"{whole}.{decimals[:2]}{decimals[2:].rstrip('0')}"
    return told if scaled.denominator == 1 else f"about {told}"
