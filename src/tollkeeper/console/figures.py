"""Figures of the console alone, beside those that all pages share (`look/figures`)."""

from decimal import ROUND_HALF_UP, Decimal

from tollkeeper.core.money.amounts import UNITS_PER_USD
from tollkeeper.look.figures import day, exact, moment, number, usd, usd_cell

MILLIONTH = Decimal("0.000001")
# By marks in what browsers call themselves. The first that fits counts: most name others, too.
BROWSERS = (
    ("Edg/", "Edge"),
    ("OPR/", "Opera"),
    ("MicroMessenger", "WeChat"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("CriOS/", "Chrome"),
    ("Safari/", "Safari"),
    ("curl/", "curl"),
)
SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)


def usd_fine(amount: int) -> str:
    """`$0.016200`: to a millionth of a dollar, for what one call cost."""
    sign = "-" if amount < 0 else ""
    found = Decimal(abs(amount)) / UNITS_PER_USD
    if 0 < found < MILLIONTH:
        return f"{sign}<$0.000001"
    return f"{sign}${found.quantize(MILLIONTH, ROUND_HALF_UP):,}"


def two_decimals(usd: str) -> str:
    """`2.500` → `2.50`: a third decimal that says nothing is left out."""
    return usd[:-1] if usd.endswith("0") and len(usd.partition(".")[2]) == 3 else usd


def browser(agent: str) -> str:
    """`Chrome, Linux`: what can be told from what a browser calls itself; empty where nothing can."""
    found = (next((name for mark, name in names if mark in agent), "") for names in (BROWSERS, SYSTEMS))
    return ", ".join(filter(None, found))


__all__ = ["browser", "day", "exact", "moment", "number", "two_decimals", "usd", "usd_cell", "usd_fine"]
