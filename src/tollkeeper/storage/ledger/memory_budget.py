"""The budgets of a key, as the ledger's twin in memory counts them."""

from collections.abc import Sequence
from datetime import date

from tollkeeper.ports import BudgetPeriod


def budget_left(
    monthly: int | None, daily: int | None, booked: Sequence[tuple[date, int]], *, day: date, today: date
) -> tuple[int | None, BudgetPeriod]:
    """The least of what is left this month and today, as far as something of `day` counts for them. Of two that are
    short alike it is the month's: that lasts longer."""
    left = []
    if monthly is not None and _month(day) == _month(today):
        left.append((monthly - sum(amount for on, amount in booked if _month(on) == _month(today)), BudgetPeriod.MONTH))
    if daily is not None and day == today:
        left.append((daily - sum(amount for on, amount in booked if on == today), BudgetPeriod.DAY))
    return min(left, key=lambda each: each[0], default=(None, BudgetPeriod.DAY))


def _month(day: date) -> tuple[int, int]:
    return day.year, day.month
