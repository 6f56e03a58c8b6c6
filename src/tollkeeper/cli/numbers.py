"""Numbers as people type them: what could be a slip is refused, and never guessed at."""

import re
from decimal import Decimal

from tollkeeper.cli.speak import Mistake

_PLAIN = re.compile(r"[+-]?[0-9]{1,30}(?:\.[0-9]{1,30})?")


def plain_decimal(text: str) -> Decimal | None:
    """Digits and at most one point; None for anything else, such as 1e3, 1_000 or NaN."""
    return Decimal(text) if _PLAIN.fullmatch(text) else None


def usd_typed(text: str) -> Decimal:
    number = plain_decimal(text)
    if number is None:
        raise Mistake(f"'{text}' is not a number of USD. Write it like 1000 or 2.50. Nothing was done.")
    return number
