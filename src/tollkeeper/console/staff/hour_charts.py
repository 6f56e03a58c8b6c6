"""The four charts of an operator's day: calls, failures by kind, time to the first byte, revenue with cost.

Rules of this file
1. A bar leads to the figures that it is made of.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import NamedTuple

import msgspec
from markupsafe import Markup

from tollkeeper.console import charts, figures
from tollkeeper.console.staff.sums import Sums, sums_of
from tollkeeper.core.money.amounts import UNITS_PER_USD
from tollkeeper.office.figures import FailureView, HourView

BUSY, SERVER, KEY, NO_ANSWER, BROKE_OFF, OTHER = (
    "busy (429)",
    "its error (5xx)",
    "key refused",
    "no answer",
    "broke off",
    "other",
)
# What is stacked in a chart, in this order: as many as there are colours.
SERIES = (BUSY, SERVER, KEY, NO_ANSWER, BROKE_OFF, OTHER)


class FailureKind(NamedTuple):
    """What a kind of failure is called in a row, and in which series of a chart it counts."""

    words: str
    series: str


# Every kind that is recorded: how a connection failed (`Failure`), how a call ended (`Ending`) where that is the
# provider's fault, and refusals by their status.
KINDS: Mapping[str, FailureKind] = {
    "busy": FailureKind("busy (429)", BUSY),
    "server": FailureKind("its error (5xx)", SERVER),
    "key_refused": FailureKind("our key was refused (401, 402)", KEY),
    "unreachable": FailureKind("not reached", NO_ANSWER),
    "silent": FailureKind("no answer in time", NO_ANSWER),
    "stalled": FailureKind("its answer stalled", BROKE_OFF),
    "broken": FailureKind("the connection broke before an answer", BROKE_OFF),
    "upstream_broke": FailureKind("its answer broke off", BROKE_OFF),
    "too_long": FailureKind("its answer was too long", OTHER),
    "refused": FailureKind("refused otherwise", OTHER),
    "not_kept": FailureKind("kind not kept yet", OTHER),
}


def kind_of(failure: str) -> FailureKind:
    """A kind of another version of the gateway is told as it is."""
    return KINDS.get(failure) or FailureKind(failure.replace("_", " "), OTHER)


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

    @property
    def anchor(self) -> str:
        return hour_anchor(self.at)


def hour_anchor(at: datetime) -> str:
    """Where an hour's row stands on the page of the figures."""
    return f"h-{at:%Y%m%d%H}"


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
        series = kind_of(each.failure).series
        kinds[series] = kinds.get(series, 0) + each.times
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
    """`href`: the page of the figures; each bar leads to its hour there."""
    return HourCharts(
        calls=_counted(hours, "Calls answered by hour", href, _calls),
        failures=_counted(hours, "Failed attempts by hour and kind", href, _failures),
        failure_names=SERIES,
        first_byte=_counted(hours, "Time to the first byte by hour, in ms: p50, and p99 above it", href, _first_byte),
        money=charts.stacked_bars(
            _bars(hours, href, _money), title="Revenue by hour in USD, with cost", width=charts.HALF_WIDTH
        ),
    )


Pieces = Callable[[Hour], Sequence[tuple[Decimal, str]]]


def _bars(hours: Sequence[Hour], href: str, pieces: Pieces) -> list[charts.Bar]:
    return [
        charts.Bar(
            hour.label,
            [
                charts.Piece(value, f"{hour.at:%Y-%m-%d %H:00}: {told}", f"{href}#{hour.anchor}")
                for value, told in pieces(hour)
            ],
        )
        for hour in hours
    ]


def _counted(hours: Sequence[Hour], title: str, href: str, pieces: Pieces) -> Markup:
    bars = _bars(hours, href, pieces)
    return charts.stacked_bars(bars, title=title, tick=charts.count_tick, least=WHOLE_CALLS, width=charts.HALF_WIDTH)


def _calls(hour: Hour) -> Sequence[tuple[Decimal, str]]:
    return [(Decimal(hour.sums.delivered), f"{hour.sums.delivered:,} calls")]


def _failures(hour: Hour) -> Sequence[tuple[Decimal, str]]:
    return [(Decimal(hour.failures.get(name, 0)), f"{hour.failures.get(name, 0):,} {name}") for name in SERIES]


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
