"""The partner plan's figures, and its money.

Rules of this file
1. Cash is an `int` of micro-USD: topped-up amount × 0.5 × 5 %. A gift is 5 % of the topped-up quota for each side.
2. The database reckons with these figures, where a code is redeemed; nothing here does it again.
"""

from decimal import Decimal
from typing import NewType

import msgspec

from tollkeeper.core.money.amounts import UNITS_PER_USD, NotAnAmount, Quota

MicroUsd = NewType("MicroUsd", int)

MICROS_PER_USD = 1_000_000
UNITS_PER_MICRO_USD = UNITS_PER_USD // MICROS_PER_USD

# Half of the amount, and of that 5 %.
CASH_MILLIONTHS = 25_000
GIFT_MILLIONTHS = 50_000

MOST_MICROS = MicroUsd(2**60 // UNITS_PER_MICRO_USD)


class ReferralTerms(msgspec.Struct, frozen=True, kw_only=True):
    """The operator's figures."""

    # From when it was earned until cash may be withdrawn.
    pending_days: int = 14
    # What an account gets in a calendar month, in UTC. Beyond it a reward is what is left.
    cash_cap: MicroUsd = MicroUsd(500 * MICROS_PER_USD)
    gift_cap: Quota = Quota(100 * UNITS_PER_USD)


def micros_from_usd(usd: Decimal) -> MicroUsd:
    """Convert exactly; refuse what would have to be rounded."""
    if not usd.is_finite() or usd <= 0:
        raise NotAnAmount(f"{usd} USD is not a positive amount.")
    micros = usd * MICROS_PER_USD
    if micros > MOST_MICROS:
        raise NotAnAmount(f"{usd} USD is too much.")
    if micros != micros.to_integral_value():
        raise NotAnAmount(f"{usd} USD has more than six decimals.")
    return MicroUsd(int(micros))


def quota_of_micros(micros: MicroUsd) -> Quota:
    return Quota(micros * UNITS_PER_MICRO_USD)


def usd_of_micros(micros: int) -> str:
    """To its last micro-USD, with at least two decimals: `-0.25`."""
    whole, rest = divmod(abs(micros), MICROS_PER_USD)
    decimals = f"{rest:06d}"
    return f"{'-' if micros < 0 else ''}{whole}.{decimals[:2]}{decimals[2:].rstrip('0')}"
