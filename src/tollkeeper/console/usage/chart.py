"""Days as bars: which models or keys stand in them, and the same numbers as rows of a table.

Rules of this file
1. The five that cost most have a colour each; what is left is one more, so that the bars add up to the total.
2. Every figure is a link to the calls that it sums.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import Any

import msgspec
from babel.dates import format_date
from markupsafe import Markup

from tollkeeper.console import charts, figures
from tollkeeper.console.key_names import key_name
from tollkeeper.console.usage.asked import Asked
from tollkeeper.console.visit import Visit
from tollkeeper.console.words import LOCALES
from tollkeeper.core.money.amounts import UNITS_PER_USD
from tollkeeper.core.usage.log import Breakdown, UsagePart, UsageSum

NAMED_MOST = charts.SERIES_MOST - 1


class Figure(msgspec.Struct, frozen=True):
    sum: UsageSum
    href: str


class ChartRow(msgspec.Struct, frozen=True):
    day: date
    whole: Figure
    # One for each series, in their order.
    parts: Sequence[Figure]


class UsageChart(msgspec.Struct, frozen=True, kw_only=True):
    picture: Markup
    # What the series are called, and the sum of each over all days.
    names: Sequence[str]
    sums: Sequence[Figure]
    # The days with calls, newest first.
    rows: Sequence[ChartRow]
    total: UsageSum


def usage_chart(visit: Visit, asked: Asked, parts: Sequence[UsagePart], key_names: Mapping[int, str]) -> UsageChart:
    series = _series(parts)
    others = bool({part.name for part in parts} - set(series))
    cells: dict[tuple[date, str], UsageSum] = {}
    for part in parts:
        place = (part.day, part.name if part.name in series else "")
        cells[place] = cells.get(place, UsageSum()) + part.sum
    shown = [*series, ""] if others else series
    named = _namer(visit, asked, key_names)
    rows = [_row(asked, day, shown, cells) for day in asked.days]
    title = visit.gettext("Spend by day in USD, from %(first)s to %(last)s", first=asked.first, last=asked.last)
    return UsageChart(
        picture=charts.stacked_bars([_bar(visit, row, [named(name) for name in shown]) for row in rows], title=title),
        names=[named(name) for name in shown],
        sums=[Figure(_total(row.parts[at].sum for row in rows), _only(asked, name)) for at, name in enumerate(shown)],
        rows=[row for row in reversed(rows) if row.whole.sum.calls],
        total=_total(row.whole.sum for row in rows),
    )


def _series(parts: Sequence[UsagePart]) -> list[str]:
    """The dearest first."""
    spent: dict[str, int] = {}
    for part in parts:
        spent[part.name] = spent.get(part.name, 0) + part.sum.charged
    ranked = sorted(spent, key=lambda name: (-spent[name], name))
    return ranked if len(ranked) <= charts.SERIES_MOST else ranked[:NAMED_MOST]


def _namer(visit: Visit, asked: Asked, key_names: Mapping[int, str]) -> Callable[[str], str]:
    def named(name: str) -> str:
        if not name:
            return visit.gettext("Others")
        return (
            (key_name(key_names.get(int(name), ""), visit.language) or f"#{name}")
            if asked.by is Breakdown.KEY
            else name
        )

    return named


def _only(asked: Asked, name: str, day: date | None = None) -> str:
    """The calls of one series, or, of those that have no colour, all."""
    days: dict[str, Any] = {} if day is None else {"first": day, "last": day}
    if not name:
        return asked.link(**days)
    return asked.link(key_id=int(name), **days) if asked.by is Breakdown.KEY else asked.link(model=name, **days)


def _row(asked: Asked, day: date, shown: Sequence[str], cells: Mapping[tuple[date, str], UsageSum]) -> ChartRow:
    parts = [Figure(cells.get((day, name), UsageSum()), _only(asked, name, day)) for name in shown]
    return ChartRow(day, Figure(_total(part.sum for part in parts), asked.link(first=day, last=day)), parts)


def _bar(visit: Visit, row: ChartRow, names: Sequence[str]) -> charts.Bar:
    told = figures.day(row.day, visit.language)
    return charts.Bar(
        _label(row.day, visit.language),
        [
            charts.Piece(
                Decimal(part.sum.charged) / UNITS_PER_USD,
                f"{told}: {name}, {figures.exact(part.sum.charged)}",
                part.href,
            )
            for name, part in zip(names, row.parts, strict=True)
        ],
    )


@lru_cache(maxsize=2_048)
def _label(day: date, language: str) -> str:
    """`9 Nov`."""
    return str(format_date(day, "d MMM" if language == "en" else "M月d日", locale=LOCALES[language]))


def _total(sums: Iterable[UsageSum]) -> UsageSum:
    return sum(sums, start=UsageSum())
