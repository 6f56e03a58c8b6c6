"""Attempts and what they came to, added up for pages of staff."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Protocol

import msgspec

from tollkeeper.office.figures import FigureSums


class HasFigures(Protocol):
    @property
    def figures(self) -> FigureSums: ...


class Sums(msgspec.Struct, frozen=True, kw_only=True):
    attempts: int = 0
    failed: int = 0
    delivered: int = 0
    revenue: int = 0
    cost: int = 0

    @property
    def margin(self) -> int:
        return self.revenue - self.cost

    @property
    def failed_percent(self) -> str:
        return percent(self.failed, self.attempts, decimals=2)

    @property
    def margin_percent(self) -> str:
        return percent(self.margin, self.revenue)


def sums_of(rows: Iterable[HasFigures]) -> Sums:
    found = [row.figures for row in rows]
    return Sums(
        attempts=sum(each.attempts for each in found),
        failed=sum(each.failed for each in found),
        delivered=sum(each.delivered for each in found),
        revenue=sum(each.revenue.micro_quota for each in found),
        cost=sum(each.cost.micro_quota for each in found),
    )


def percent(part: int, whole: int, *, decimals: int = 0) -> str:
    """`31 %`; a dash where there is nothing to take a part of."""
    return f"{Decimal(100 * part) / whole:.{decimals}f} %" if whole > 0 else "–"
