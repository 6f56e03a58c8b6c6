"""The lines of a receipt: what each part of a call's usage costs, in USD, exactly.

Rules of this file
1. A line is not rounded: their sum is, once, and that is the charge.
"""

from collections.abc import Iterator

import msgspec

from tollkeeper.core.money.amounts import UNITS_PER_QUOTA_TOKEN, UNITS_PER_USD
from tollkeeper.core.money.prices import MILLIONTHS, Rate, Usage

# Of what a line is counted in, there are so many to a USD: three factors of a million, of which the amount has one.
_PER_USD = UNITS_PER_USD * MILLIONTHS**3 // UNITS_PER_QUOTA_TOKEN
_DECIMALS = 24
_AMOUNT_SCALE = MILLIONTHS**3 // UNITS_PER_QUOTA_TOKEN // MILLIONTHS


class ReceiptLine(msgspec.Struct, frozen=True):
    name: str
    units: int
    usd: str


def lines_of(rate: Rate, usage: Usage) -> Iterator[ReceiptLine]:
    model = rate.price.for_input(usage.input_units).model
    for term in rate.terms(usage):
        exact = rate.group * term.units * (model * term.weight + term.amount * _AMOUNT_SCALE)
        yield ReceiptLine(term.name, term.units, _usd(exact))


def _usd(exact: int) -> str:
    """To the last of 24 decimals, with at least three."""
    whole, rest = divmod(exact * (10**_DECIMALS // _PER_USD), 10**_DECIMALS)
    decimals = f"{rest:024d}"
    return f"{whole}.{decimals[:3]}{decimals[3:].rstrip('0')}"
