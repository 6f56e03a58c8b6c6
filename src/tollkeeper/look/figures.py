"""Money, numbers and times as people read them.

Rules of this file
1. Two decimals where people look; the exact amount beside it, for those who check (`exact`).
2. What remains is rounded down, what was used half up; what is not nothing is never shown as nothing.
3. Times are UTC and say so.
"""

from datetime import UTC, date, datetime
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from functools import lru_cache

from babel.dates import format_date, format_datetime
from markupsafe import Markup

from tollkeeper.core.money.amounts import UNITS_PER_USD, Quota, quota_text, usd_exact
from tollkeeper.look.words import LOCALES

CENT = Decimal("0.01")


def usd(amount: int, *, used: bool = False) -> str:
    """`$1.84`, `-$1.84`, `<$0.01`."""
    sign = "-" if amount < 0 else ""
    exact = Decimal(abs(amount)) / UNITS_PER_USD
    if 0 < exact < CENT:
        return f"{sign}<$0.01"
    return f"{sign}${exact.quantize(CENT, ROUND_HALF_UP if used else ROUND_DOWN):,}"


def exact(amount: int) -> str:
    """To the last unit: `$0.0003075`, `$1,200.00`. With three decimals, many would read thousands."""
    sign = "-" if amount < 0 else ""
    whole, _, decimals = usd_exact(Quota(abs(amount))).partition(".")
    return f"{sign}${int(whole):,}.{decimals[:2]}{decimals[2:].rstrip('0')}"


def usd_cell(amount: int, *, used: bool = False) -> Markup:
    """For people, with the exact amount where the pointer rests."""
    return Markup('<span title="{}">{}</span>').format(exact(amount), usd(amount, used=used))


def quota_tokens(amount: int) -> str:
    """`4,210,000.5`: with as many decimals as it takes."""
    whole, point, rest = quota_text(abs(amount)).partition(".")
    return f"{'-' if amount < 0 else ''}{int(whole):,}{point}{rest}"


def number(value: int, language: str) -> str:
    """`4,210`: of all languages that there are, in thousands."""
    return f"{value:,}"


# A chart names the same days again and again, and Babel takes a while for each.
@lru_cache(maxsize=2_048)
def day(value: date | datetime, language: str) -> str:
    """`9 Nov 2026`."""
    return str(format_date(value, "d MMM y" if language == "en" else "y年M月d日", locale=LOCALES[language]))


def moment(value: datetime, language: str) -> Markup:
    """`9 Nov 2026, 14:05 UTC`, as a `time` element."""
    value = value.astimezone(UTC)
    form = "d MMM y, HH:mm" if language == "en" else "y年M月d日 HH:mm"
    told = format_datetime(value, form, locale=LOCALES[language])
    return Markup('<time datetime="{}">{} UTC</time>').format(value.isoformat(timespec="seconds"), told)
