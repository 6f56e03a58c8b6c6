"""A price as what a unit of each thing costs, and how the book writes it down: as multipliers, or each by itself.

Rules of this file
1. Costs are fractions of quota tokens: nothing is rounded, and what the book cannot hold is refused.
2. Where every cost is a multiple of input's with six decimals, the book has those multipliers. Where one is not, as
   2.50 USD of output beside 0.30 USD of input, the book has a model multiplier of 1 and every cost by itself.
3. What a tier does not name is as large a share of its input as in the row.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction

import msgspec
from msgspec import UNSET

from tollkeeper.accounts.price_parts import PriceRefused, checked_lengths, checked_multiplier, merged
from tollkeeper.core.catalog.price_book import NAMES
from tollkeeper.core.catalog.priced import CACHED, INPUT, OUTPUT
from tollkeeper.core.money.parts import Part, PriceParts, PriceTier
from tollkeeper.core.money.price_words import above
from tollkeeper.core.money.prices import MILLIONTHS, Price
from tollkeeper.ports.catalog.prices import NewFigures, NewParts, NewTier, Ratio

# Quota tokens for a unit, by `input`, `cached`, `output` and the names of parts: what has a cost of its own.
Costs = Mapping[str, Fraction]
# A million units of one quota token each.
USD_OF_ONE = 2


class PriceSheet(msgspec.Struct, frozen=True):
    row: Costs
    # By the length of input above which they hold.
    tiers: Mapping[int, Costs] = msgspec.field(default_factory=dict)


def sheet_of(price: Price) -> PriceSheet:
    parts = price.parts or PriceParts()
    own = {part.value: weight for part in Part if (weight := getattr(parts, part.value)) is not None}
    cached = {} if price.cached == price.input else {CACHED: price.cached}
    row = _costs(price.model, {INPUT: price.input, **cached, OUTPUT: price.completion, **own})
    return PriceSheet(row, {tier.above_tokens: _tier_costs(tier, price) for tier in parts.tiers})


def tier_costs(price: Price) -> dict[int, Costs]:
    """All that calls with more input cost, by their lengths."""
    tiers = () if price.parts is None else price.parts.tiers
    return {tier.above_tokens: sheet_of(price.for_input(tier.above_tokens + 1)).row for tier in tiers}


def has_multipliers(price: Price, figures: NewFigures) -> bool:
    """Whether the book has multipliers before such a change, and after it."""
    named = (figures.completion, figures.cached, *_named_parts(figures.parts).values())
    new = [tier for tier in figures.parts.tiers.values() if tier]
    tiers = (each for tier in new for each in (tier.completion, tier.cached, *tier.parts.values()))
    whole = all(_is_whole(each) for each in (*named, *tiers) if isinstance(each, Fraction))
    return whole and (price.parts is None or price.parts.input is None)


def rewritten(price: Price, figures: NewFigures) -> Price:
    """The price after a change, as the book writes it. What is not named stays the multiple of input that it is. Raise
    PriceRefused."""
    sheet = _changed(sheet_of(price), figures)
    amounts = NewParts(per_call=figures.parts.per_call, tools=figures.parts.tools)
    kept = merged(price.parts, amounts)
    beside = PriceParts(per_call=kept.per_call, tools=kept.tools)
    checked_lengths(sheet.tiers)
    return _in_multipliers(sheet, price, beside) or _each_by_itself(sheet, price, beside)


def usd_typed_like(usd: Fraction) -> str:
    """`2.50`, `0.0375`: at least two decimals; all of them, where they end."""
    digits = 12
    scaled = usd * 10**digits
    text = f"{Decimal(round(scaled)).scaleb(-digits):f}"
    whole, _, decimals = text.partition(".")
    told = f"{whole}.{decimals[:2]}{decimals[2:].rstrip('0')}"
    return told if scaled.denominator == 1 else f"about {told}"


def _costs(model: int, weights: Mapping[str, int]) -> Costs:
    return {name: Fraction(model * weight, MILLIONTHS**2) for name, weight in weights.items()}


def _tier_costs(tier: PriceTier, price: Price) -> Costs:
    named = {OUTPUT: tier.completion, CACHED: tier.cached}
    own = {name: weight for name, weight in named.items() if weight is not None}
    return _costs(tier.model, {INPUT: price.input, **own, **tier.weights})


def _changed(sheet: PriceSheet, figures: NewFigures) -> PriceSheet:
    before = sheet.row[INPUT]
    shares = {name: cost / before if before else Fraction(1) for name, cost in sheet.row.items()}
    named: dict[str, Ratio | None] = _named_parts(figures.parts)
    named |= {name: each for name, each in ((OUTPUT, figures.completion), (CACHED, figures.cached)) if each is not None}
    # Cached input that costs what input does has no cost of its own.
    ended = {name for name, each in named.items() if each is None or (name == CACHED and each == 1)}
    shares |= {name: Fraction(each) for name, each in named.items() if each is not None}
    one = before if figures.model is None else Fraction(figures.model)
    row = {name: share * one for name, share in shares.items() if name not in ended}
    unset = {name for name, each in named.items() if each is None}
    kept = {
        length: {name: cost for name, cost in costs.items() if name not in unset}
        for length, costs in sheet.tiers.items()
    }
    tiers = {**kept, **{length: _named_tier(tier) for length, tier in figures.parts.tiers.items()}}
    return PriceSheet(row, {length: costs for length, costs in sorted(tiers.items()) if costs})


def _named_parts(parts: NewParts) -> dict[str, Ratio | None]:
    return {part.value: own for part in Part if (own := getattr(parts, part.value)) is not UNSET}


def _named_tier(tier: NewTier | None) -> Costs:
    """Empty: it ends."""
    if tier is None:
        return {}
    one, named = Fraction(tier.model), {OUTPUT: tier.completion, CACHED: tier.cached, **tier.parts}
    return {INPUT: one} | {name: Fraction(each) * one for name, each in named.items() if each is not None}


def _in_multipliers(sheet: PriceSheet, price: Price, beside: PriceParts) -> Price | None:
    """None: they do not come out."""
    rows = (sheet.row, *sheet.tiers.values())
    if not all(costs[INPUT] for costs in rows):
        return None
    if not all(_is_whole(cost / costs[INPUT]) for costs in rows for cost in costs.values()):
        return None
    row, *tiers = ({name: cost / costs[INPUT] for name, cost in costs.items() if name != INPUT} for costs in rows)
    lengths = zip(sheet.tiers.items(), tiers, strict=True)
    found = tuple(_tier(length, _figure(INPUT, costs[INPUT], length), own) for (length, costs), own in lengths)
    return _written(price, _figure(INPUT, sheet.row[INPUT]), row, msgspec.structs.replace(beside, tiers=found))


def _each_by_itself(sheet: PriceSheet, price: Price, beside: PriceParts) -> Price:
    """Raise PriceRefused."""
    tiers = tuple(_tier(length, MILLIONTHS, _full(sheet.row, costs)) for length, costs in sheet.tiers.items())
    own = msgspec.structs.replace(beside, input=_figure(INPUT, sheet.row[INPUT]), tiers=tiers)
    weights = {CACHED: sheet.row[INPUT]} | {name: cost for name, cost in sheet.row.items() if name != INPUT}
    return _written(price, MILLIONTHS, weights, own)


def _full(row: Costs, tier: Costs) -> Costs:
    """All that a tier costs, also what it has as the row has it."""
    more = tier[INPUT] / row[INPUT] if row[INPUT] else Fraction(1)
    return {CACHED: tier[INPUT]} | {name: cost * more for name, cost in row.items()} | dict(tier)


def _written(price: Price, model: int, weights: Costs, parts: PriceParts) -> Price:
    figures = {name: _figure(name, cost) for name, cost in weights.items()}
    completion, cached = figures.pop(OUTPUT), figures.pop(CACHED, MILLIONTHS)
    parts = msgspec.structs.replace(parts, **figures)
    return msgspec.structs.replace(price, model=model, completion=completion, cached=cached, parts=parts)


def _tier(length: int, model: int, weights: Costs) -> PriceTier:
    figures = {name: _figure(name, cost, length) for name, cost in weights.items()}
    completion, cached = figures.pop(OUTPUT, None), figures.pop(CACHED, None)
    found = PriceTier(above_tokens=length, model=model, completion=completion, cached=cached)
    return msgspec.structs.replace(found, **figures)


def _figure(name: str, cost: Fraction, length: int = 0) -> int:
    """In millionths. Raise PriceRefused."""
    if not _is_whole(cost):
        where = f" {above(length)}" if length else ""
        below = Fraction(cost * MILLIONTHS // 1, MILLIONTHS)
        near = " and ".join(_near(below))
        raise PriceRefused(
            f"{usd_typed_like(cost * USD_OF_ONE)} USD for a {NAMES[name]}{where} would have to be rounded: the book "
            f"has six decimals of a quota token. Nothing was entered. Exact are {near} USD."
        )
    return checked_multiplier(cost)


def _near(below: Fraction) -> Iterator[str]:
    for cost in (below, below + Fraction(1, MILLIONTHS)):
        yield usd_typed_like(cost * USD_OF_ONE)


def _is_whole(figure: Fraction) -> bool:
    """With at most six decimals."""
    return (figure * MILLIONTHS).denominator == 1
