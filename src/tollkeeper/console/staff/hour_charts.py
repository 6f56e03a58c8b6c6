"""The four charts of an operator's day: calls, failures by kind, time to the first byte, revenue with cost.

Rules of this file
1. A bar leads to the figures that it is made of.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal

import msgspec
from markupsafe import Markup

from tollkeeper.console import charts, figures
from tollkeeper.console.staff.sums import Sums, sums_of
from tollkeeper.core.money.amounts import UNITS_PER_USD
from tollkeeper.office.figures import FailureView, HourView

# Kinds of failure in words, the commonest first; each has a colour. Whatever else there is, is one kind.
KINDS: Mapping[str, str] = {
    "busy": "busy (429)",
    "server": "its error (5xx)",
    "unreachable": "not reached",
    "silent": "no answer in time",
    "broken": "broke off",
}
OTHER = "other"
WHOLE_CALLS = Decimal(4)


class Hour(msgspec.Struct, frozen=True, kw_only=True):
    at: datetime
    sums: Sums = Sums()
    first_byte_p50_ms: int | None = None
    first_byte_p99_ms: int | None = None
    failures: Mapping[str, int] = {}

    @property
    def label(self) -> str:
        return f"{self.at:%H:00}"


def every_hour(
    rows: Sequence[HourView], failures: Sequence[FailureView], now: datetime, how_many: int
) -> Sequence[Hour]:
    """The last hours, with those in which nothing happened."""
    found = {row.hour: row for row in rows}
    this_hour = now.replace(minute=0, second=0, microsecond=0)
    hours = [this_hour - timedelta(hours=back) for back in reversed(range(how_many))]
    return [_hour(at, found.get(at), [each for each in failures if each.hour == at]) for at in hours]


def _hour(at: datetime, row: HourView | None, failures: Sequence[FailureView]) -> Hour:
    kinds: dict[str, int] = {}
    for each in failures:
        kind = KINDS.get(each.failure, OTHER)
        kinds[kind] = kinds.get(kind, 0) + each.times
    if row is None:
        return Hour(at=at, failures=kinds)
    return Hour(
        at=at,
        sums=sums_of([row]),
        first_byte_p50_ms=row.figures.first_byte_p50_ms,
        first_byte_p99_ms=row.figures.first_byte_p99_ms,
        failures=kinds,
    )


class HourCharts(msgspec.Struct, frozen=True, kw_only=True):
    calls: Markup
    failures: Markup
    failure_names: Sequence[str]
    first_byte: Markup
    money: Markup


def hour_charts(hours: Sequence[Hour], href: str) -> HourCharts:
    """`href`: the page of the figures."""
    names = [*KINDS.values(), OTHER]
    return HourCharts(
        calls=_counted(hours, "Calls answered by hour", href, _calls),
        failures=_counted(hours, "Failed attempts by hour and kind", href, lambda hour: _failures(hour, names)),
        failure_names=names,
        first_byte=_counted(hours, "Time to the first byte by hour, in ms: p50, and p99 above it", href, _first_byte),
        money=charts.stacked_bars(
            _bars(hours, href, _money), title="Revenue by hour in USD, with cost", width=charts.HALF_WIDTH
        ),
    )


Pieces = Callable[[Hour], Sequence[tuple[Decimal, str]]]


def _bars(hours: Sequence[Hour], href: str, pieces: Pieces) -> list[charts.Bar]:
    return [
        charts.Bar(hour.label, [charts.Piece(value, f"{hour.at:%Y-%m-%d %H:00}: {told}", href) for value, told in made])
        for hour, made in ((hour, pieces(hour)) for hour in hours)
    ]


def _counted(hours: Sequence[Hour], title: str, href: str, pieces: Pieces) -> Markup:
    bars = _bars(hours, href, pieces)
    return charts.stacked_bars(bars, title=title, tick=charts.count_tick, least=WHOLE_CALLS, width=charts.HALF_WIDTH)


def _calls(hour: Hour) -> Sequence[tuple[Decimal, str]]:
    return [(Decimal(hour.sums.delivered), f"{hour.sums.delivered:,} calls")]


def _failures(hour: Hour, names: Sequence[str]) -> Sequence[tuple[Decimal, str]]:
    return [(Decimal(hour.failures.get(name, 0)), f"{hour.failures.get(name, 0):,} {name}") for name in names]


def _first_byte(hour: Hour) -> Sequence[tuple[Decimal, str]]:
    p50, p99 = hour.first_byte_p50_ms, hour.first_byte_p99_ms
    if p50 is None or p99 is None:
        return []
    return [(Decimal(p50), f"p50 {p50:,} ms"), (Decimal(max(0, p99 - p50)), f"p99 {p99:,} ms")]


def _money(hour: Hour) -> Sequence[tuple[Decimal, str]]:
    """The bar is as high as the revenue or, where that is less, the cost."""
    sums = hour.sums
    parts = (
        (min(sums.cost, sums.revenue), f"cost {figures.usd(sums.cost, used=True)}"),
        (max(-sums.margin, 0), f"loss {figures.usd(-sums.margin, used=True)}"),
        (max(sums.margin, 0), f"margin {figures.usd(sums.margin, used=True)}"),
    )
    return [(Decimal(part) / UNITS_PER_USD, told) for part, told in parts]
