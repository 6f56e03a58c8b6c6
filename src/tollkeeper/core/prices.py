"""Prices: multipliers from an instant on, and what counts of usage cost under them.

Rules of this file
1. A multiplier is an integer of millionths: six decimals, exactly.
2. The formula is the specification's: group × model × (input + output × completion), where cached input counts by its
   own multiplier. It is computed in integers and rounded once, at the end: half up for a charge, up for a hold.
3. A call keeps the price it was admitted under.
"""

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal

import msgspec

from tollkeeper.core.money import UNITS_PER_QUOTA_TOKEN, Quota

MILLIONTHS = 1_000_000
# Input and completion, group and model: three factors of a million; the amount keeps one of them, as micro-quota.
_SCALE = MILLIONTHS**3 // UNITS_PER_QUOTA_TOKEN


class Usage(msgspec.Struct, frozen=True):
    """Counts of model tokens; of media, `input_tokens` are the units that are priced: images, characters, seconds.
    `cached_tokens` are part of `input_tokens`."""

    input_tokens: int
    output_tokens: int = 0
    cached_tokens: int = 0


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


class Rate(msgspec.Struct, frozen=True):
    """The price of one call: a row of the price book, and the multiplier of the caller's group."""

    price: Price
    group: int

    def exact(self, usage: Usage) -> int:
        """What `usage` costs, before rounding, in units of 1/`_SCALE` micro-quota."""
        price = self.price
        fresh = usage.input_tokens - usage.cached_tokens
        weighted = fresh * MILLIONTHS + usage.cached_tokens * price.cached + usage.output_tokens * price.completion
        return self.group * price.model * weighted

    def charge(self, usage: Usage) -> Quota:
        """Rounded half up."""
        return Quota((self.exact(usage) * 2 + _SCALE) // (2 * _SCALE))

    def ceiling(self, usage: Usage) -> Quota:
        """Rounded up: enough for this usage, and for any with less of every kind of token."""
        return Quota(-(-self.exact(usage) // _SCALE))


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
