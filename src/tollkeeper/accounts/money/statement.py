"""An account's statement of a month: what there was, what came and went, what is left."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from tollkeeper.ports.customers.lots import StatementLine, Statements

_MONTH = re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])")


class NotAMonth(ValueError):
    """What was given is no month; the message says how to write one."""


class MonthStatement(msgspec.Struct, frozen=True, kw_only=True):
    """In micro-quota, and exact: opening + what the lines say = closing. Below zero is what is owed."""

    account_id: int
    since: datetime
    # Where that has not come yet, the month is not over and the closing balance is that of now.
    until: datetime
    opening: int
    lines: Sequence[StatementLine]
    closing: int


async def month_statement(account_id: int, month: str, statements: Statements) -> MonthStatement:
    """The statement of a calendar month, UTC. Raise NotAMonth, or NotOnFile."""
    since, until = bounds(month)
    found = await statements.month(account_id, since, until)
    return MonthStatement(
        account_id=account_id,
        since=since,
        until=until,
        opening=found.opening,
        lines=found.lines,
        closing=found.closing,
    )


def bounds(month: str) -> tuple[datetime, datetime]:
    """`2026-10` → from the first of October until the first of November."""
    found = _MONTH.fullmatch(month)
    if found is None or not 1970 <= int(found[1]) < 9999:
        raise NotAMonth(f"'{month}' is not a month: write one like 2026-10.")
    year, number = int(found[1]), int(found[2])
    following = (year, number + 1) if number < 12 else (year + 1, 1)
    return datetime(year, number, 1, tzinfo=UTC), datetime(*following, 1, tzinfo=UTC)
