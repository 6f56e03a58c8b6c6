"""Money: integer micro-quota, and how it is shown and entered in USD.

Rules of this file
1. An amount is an `int` of micro-quota. 1 quota token is 1,000,000 units; 1 USD is 500,000 quota tokens.
2. No float, ever. Decimal appears only where people enter amounts, and must convert exactly.
3. What is shown as remaining is rounded down, what is shown as used is rounded half up.
"""

import re
from decimal import Decimal
from typing import NewType

Quota = NewType("Quota", int)

UNITS_PER_QUOTA_TOKEN = 1_000_000
QUOTA_TOKENS_PER_USD = 500_000
UNITS_PER_USD = UNITS_PER_QUOTA_TOKEN * QUOTA_TOKENS_PER_USD
UNITS_PER_MILL = UNITS_PER_USD // 1_000

# What BIGINT holds, less a wide margin: sums of a few amounts still fit.
MOST = Quota(2**60)


_PLAIN = re.compile(r"[+-]?[0-9]{1,30}(?:\.[0-9]{1,30})?")


class NotAnAmount(ValueError):
    """An amount that is not a whole, positive number of units within range."""


def plain_decimal(text: str) -> Decimal | None:
    """A number as people type it: digits and at most one point; None for anything else, such as 1e3, 1_000 or NaN. What
    could be a slip is never guessed at."""
    return Decimal(text) if _PLAIN.fullmatch(text) else None


def usd_typed(text: str) -> Decimal:
    """Raise NotAnAmount."""
    number = plain_decimal(text)
    if number is None:
        raise NotAnAmount(f"'{text}' is not a number of USD. Write it like 1000 or 2.50.")
    return number


def quota_from_usd(usd: Decimal) -> Quota:
    """Convert exactly; refuse what would have to be rounded."""
    if not usd.is_finite() or usd <= 0:
        raise NotAnAmount(f"{usd} USD is not a positive amount.")
    units = usd * UNITS_PER_USD
    if units > MOST:
        raise NotAnAmount(f"{usd} USD is more than one credit may carry.")
    if units != units.to_integral_value():
        raise NotAnAmount(f"{usd} USD has more decimals than a micro-quota can hold.")
    return Quota(int(units))


def mills_remaining(amount: Quota) -> int:
    """Thousandths of a USD, rounded down and never below zero: no money is shown that is not there."""
    return max(0, amount) // UNITS_PER_MILL


def mills_used(amount: Quota) -> int:
    """Thousandths of a USD, rounded half up."""
    return (amount + UNITS_PER_MILL // 2) // UNITS_PER_MILL


def usd_text(mills: int) -> str:
    """`12345` → `12.345`: always three decimals."""
    return f"{mills // 1_000}.{mills % 1_000:03d}"


def usd_exact(amount: Quota) -> str:
    """The amount in USD to its last unit, with at least three decimals: `0.0003075`, `-1.500`."""
    sign = "-" if amount < 0 else ""
    whole, units = divmod(abs(amount) * (10**12 // UNITS_PER_USD), 10**12)
    decimals = f"{units:012d}"
    return f"{sign}{whole}.{decimals[:3]}{decimals[3:].rstrip('0')}"


def quota_text(amount: int) -> str:
    """The amount in quota tokens to its last unit, without zeros behind it: `-1.5`."""
    sign = "-" if amount < 0 else ""
    whole, rest = divmod(abs(amount), UNITS_PER_QUOTA_TOKEN)
    return f"{sign}{whole}.{rest:06d}".rstrip("0").rstrip(".")
