"""Calendar months, for the ledger's twin in memory."""

from datetime import date, datetime


def month_of(day: date) -> date:
    return day.replace(day=1)


def months_later(moment: datetime, months: int) -> datetime:
    """Calendar months, as PostgreSQL counts them: the 31st becomes the last day of a shorter month."""
    year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
    for day in range(moment.day, 0, -1):
        try:
            return moment.replace(year=year, month=month + 1, day=day)
        except ValueError:
            continue
    raise AssertionError("every month has a first day")
