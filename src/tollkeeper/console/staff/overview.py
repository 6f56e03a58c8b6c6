"""Overview: calls, failures, latency, revenue, cost and margin of the last day, and how each provider account is doing.

Rules of this file
1. Every figure is a link to the rows that it sums.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal

import msgspec
from markupsafe import Markup
from starlette.responses import Response

from tollkeeper.console import charts, figures
from tollkeeper.console.pages import staff_get
from tollkeeper.console.visit import Visit
from tollkeeper.core.money.amounts import UNITS_PER_USD
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.figures import (
    AccountModelView,
    HoursWish,
    HourView,
    list_figures_by_hour,
    list_figures_by_model,
)

HOURS = 24


class Sums(msgspec.Struct, frozen=True, kw_only=True):
    """Attempts and what they came to."""

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
        return f"{Decimal(100 * self.failed) / self.attempts:.2f} %" if self.attempts else "–"

    @property
    def margin_percent(self) -> str:
        return f"{Decimal(100 * self.margin) / self.revenue:.0f} %" if self.revenue else "–"


class OverviewRow(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    sums: Sums
    share: str
    models: Sequence[AccountModelView]


async def show(visit: Visit) -> Response:
    office, wish = visit.desks.office, HoursWish(hours=HOURS)
    hours = (await list_figures_by_hour(office, wish, visit.by)).data
    models = (await list_figures_by_model(office, wish, visit.by)).data
    total, every_hour = _sums(hours), _every_hour(hours, visit.desks.now())
    return visit.page(
        "overview.html",
        total=total,
        accounts=_accounts(models, total),
        hours=every_hour,
        sparks=_sparks(every_hour),
        picture=_picture(every_hour),
    )


def _sums(rows: Iterable[HourView | AccountModelView]) -> Sums:
    found = [row.figures for row in rows]
    return Sums(
        attempts=sum(each.attempts for each in found),
        failed=sum(each.failed for each in found),
        delivered=sum(each.delivered for each in found),
        revenue=sum(each.revenue.micro_quota for each in found),
        cost=sum(each.cost.micro_quota for each in found),
    )


def _accounts(models: Sequence[AccountModelView], total: Sums) -> list[OverviewRow]:
    names = sorted({each.account for each in models})
    rows = []
    for name in names:
        own = [each for each in models if each.account == name]
        sums = _sums(own)
        share = f"{Decimal(100 * sums.delivered) / total.delivered:.0f} %" if total.delivered else "–"
        rows.append(OverviewRow(name=name, sums=sums, share=share, models=own))
    return sorted(rows, key=lambda row: -row.sums.delivered)


def _every_hour(hours: Sequence[HourView], now: datetime) -> list[tuple[datetime, Sums]]:
    """The last day, with the hours in which nothing happened."""
    found = {each.hour: _sums([each]) for each in hours}
    this_hour = now.replace(minute=0, second=0, microsecond=0)
    days = [this_hour - timedelta(hours=back) for back in reversed(range(HOURS))]
    return [(hour, found.get(hour, Sums())) for hour in days]


def _sparks(hours: Sequence[tuple[datetime, Sums]]) -> dict[str, Markup]:
    return {
        name: charts.sparkline([Decimal(getattr(sums, name)) for _, sums in hours])
        for name in ("delivered", "failed", "revenue", "margin")
        if all(getattr(sums, name) >= 0 for _, sums in hours)
    }


def _picture(hours: Sequence[tuple[datetime, Sums]]) -> Markup:
    bars = [charts.Bar(f"{hour:%H:00}", [_piece(hour, sums)]) for hour, sums in hours]
    return charts.stacked_bars(bars, title="Revenue by hour in USD")


def _piece(hour: datetime, sums: Sums) -> charts.Piece:
    words = f"{hour:%Y-%m-%d %H:00}: {figures.usd(sums.revenue, used=True)}"
    return charts.Piece(Decimal(sums.revenue) / UNITS_PER_USD, words)


PAGES = (staff_get("/staff", show, Scope.READ),)
