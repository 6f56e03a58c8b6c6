"""Amounts as people type them: what could be a slip is refused, and never guessed at."""

from decimal import Decimal

from tollkeeper.cli.speak import Mistake
from tollkeeper.core.money import amounts
from tollkeeper.core.money.amounts import NotAnAmount


def usd_typed(text: str) -> Decimal:
    try:
        return amounts.usd_typed(text)
    except NotAnAmount as problem:
        raise Mistake(f"{problem} Nothing was done.") from None
