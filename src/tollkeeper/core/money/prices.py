"""Prices: multipliers from an instant on, and what counts of usage cost under them.

Rules of this file
1. A multiplier is an integer of millionths: six decimals, exactly.
2. The formula is the specification's: group × model × (input + output × completion), where cached input counts by its
   own multiplier, plain input too where a price says so, and so does every other part of input and output that has
   one (`parts`). What a call and the uses of tools cost is added to that, times the group. It is computed in integers
   and rounded once, at the end: half up for a charge, up for a hold.
3. A call keeps the price it was admitted under.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal

import msgspec

from tollkeeper.core.money.amounts import UNITS_PER_QUOTA_TOKEN, Quota
from tollkeeper.core.money.parts import OF_INPUT, OF_OUTPUT, PriceParts, UsageParts

MILLIONTHS = 1_000_000
# Input and completion, group and model: three factors of a million; the amount keeps one of them, as micro-quota.
_SCALE = MILLIONTHS**3 // UNITS_PER_QUOTA_TOKEN
# An amount times a group, in the same units.
_AMOUNT_SCALE = _SCALE // MILLIONTHS


# As journals write usage: those of an earlier version are still read.
_IN_JOURNALS = {"input_units": "input_tokens", "output_units": "output_tokens", "cached_units": "cached_tokens"}


class Usage(msgspec.Struct, frozen=True, rename=_IN_JOURNALS, omit_defaults=True):
    """Counts of the units that are priced: model tokens, or, of media, images, characters and seconds, which are input.
    `cached_units` are part of `input_units`, and so are those of `parts`, which few calls have. `beside_units` are part
    of `output_units`: thoughts that a provider told beside what it said."""

    input_units: int
    output_units: int = 0
    cached_units: int = 0
    parts: UsageParts | None = None
    beside_units: int = 0


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the price book: in force from its instant until the next row's."""

    id: int
    model_id: str
    effective_from: datetime
    model: int
    completion: int
    cached: int
    # Which of the model's prices: of an image, its size and quality. Most models have one price, without a name.
    variant: str = ""
    parts: PriceParts | None = None

    def __hash__(self) -> int:
        return hash(self.id)

    def for_input(self, input_units: int) -> "Price":
        """The price of a call with so much input: that of its tier."""
        parts = self.parts
        tier = None if parts is None else parts.tier(input_units)
        if parts is None or tier is None:
            return self
        completion = self.completion if tier.completion is None else tier.completion
        cached = self.cached if tier.cached is None else tier.cached
        parts = msgspec.structs.replace(parts, **tier.weights) if tier.weights else parts
        return msgspec.structs.replace(self, model=tier.model, completion=completion, cached=cached, parts=parts)

    @property
    def input(self) -> int:
        """The weight of a plain input unit: a million, unless prices that do not divide made it another."""
        own = None if self.parts is None else self.parts.input
        return MILLIONTHS if own is None else own

    def weight(self, part: str) -> int:
        """What a unit of a part costs, by the model's multiplier."""
        own: int | None = None if self.parts is None else getattr(self.parts, part)
        if own is not None:
            return own
        return self.completion if part in OF_OUTPUT else self.input


class Term(msgspec.Struct, frozen=True):
    """A line of a receipt: so many units, at a weight of the model's multiplier; or so many times an amount."""

    name: str
    units: int
    weight: int = 0
    amount: int = 0


class Rate(msgspec.Struct, frozen=True):
    """The price of one call: a row of the price book, and the multiplier of the caller's group."""

    price: Price
    group: int

    def exact(self, usage: Usage) -> int:
        """What `usage` costs, before rounding, in units of 1/`_SCALE` micro-quota."""
        price = self.price
        if usage.parts is not None or price.parts is not None:
            return self._exact_in_parts(usage)
        fresh = usage.input_units - usage.cached_units
        weighted = fresh * MILLIONTHS + usage.cached_units * price.cached + usage.output_units * price.completion
        return self.group * price.model * weighted

    def charge(self, usage: Usage) -> Quota:
        """Rounded half up."""
        return Quota((self.exact(usage) * 2 + _SCALE) // (2 * _SCALE))

    def ceiling(self, usage: Usage, *, beyond: Usage | None = None) -> Quota:
        """Rounded up: enough for this usage, and for any with less of every kind of token. `beyond`: what of it is paid
        for already."""
        exact = self.exact(usage) - (0 if beyond is None else self.exact(beyond))
        return Quota(-(-exact // _SCALE))

    def terms(self, usage: Usage) -> Iterator[Term]:
        """What is multiplied and added: input and output always, everything else where there was any of it."""
        price, parts = self.price.for_input(usage.input_units), usage.parts or UsageParts()
        yield Term("input", usage.input_units - usage.cached_units - parts.input_units, price.input)
        if usage.cached_units:
            yield Term("cached", usage.cached_units, price.cached)
        yield from _terms_of(parts, OF_INPUT, price)
        yield Term("output", usage.output_units - parts.output_units, price.completion)
        yield from _terms_of(parts, OF_OUTPUT, price)
        amounts = price.parts or PriceParts()
        if amounts.per_call:
            yield Term("call", 1, amount=amounts.per_call)
        for tool, uses in parts.tools.items():
            yield Term(tool, uses, amount=amounts.tools.get(tool, 0))

    def _exact_in_parts(self, usage: Usage) -> int:
        model, weighted, amounts = self.price.for_input(usage.input_units).model, 0, 0
        for term in self.terms(usage):
            weighted += term.units * term.weight
            amounts += term.units * term.amount
        return self.group * (model * weighted + amounts * _AMOUNT_SCALE)


def _terms_of(parts: UsageParts, each: Iterable[str], price: Price) -> Iterator[Term]:
    for part in each:
        units: int = getattr(parts, part)
        if units:
            yield Term(part, units, price.weight(part))


def millionths(multiplier: Decimal) -> int:
    """Convert exactly; refuse what has more than six decimals."""
    scaled = multiplier * MILLIONTHS
    if scaled != scaled.to_integral_value():
        raise ValueError(f"{multiplier} has more than six decimals.")
    return int(scaled)


def in_force(prices: Iterable[Price], now: datetime, variant: str = "") -> Price | None:
    """The price of a variant that holds at `now`: the latest that has begun."""
    latest: Price | None = None
    for price in prices:
        if price.effective_from <= now and price.variant == variant:
            latest = price if latest is None or price.effective_from > latest.effective_from else latest
    return latest
