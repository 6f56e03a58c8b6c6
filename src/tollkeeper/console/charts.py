"""Charts as SVG, made here: no script, no inline style, and the same numbers for a table beside them.

Rules of this file
1. A colour is a class (`s0` to `s5`), a length is an attribute.
2. The axis ends a little above the highest bar, at a round number.
3. Numbers are drawn, never money: floats are good enough for pixels.
"""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import NamedTuple

from markupsafe import Markup

WIDTH, HEIGHT = 860, 220
# Of one that has half of a page.
HALF_WIDTH = 480
LEFT_LEAST, RIGHT, TOP, BOTTOM = 44, 4, 8, 24
# Of a digit on the axis.
DIGIT_WIDTH = 7
SERIES_MOST = 6
LABELS_MOST = 8
SPARK_WIDTH, SPARK_HEIGHT = 84, 36


class Piece(NamedTuple):
    """A part of one bar: its height, what is said of it, and the rows that it sums."""

    value: Decimal
    told: str
    href: str = ""


class Bar(NamedTuple):
    label: str
    # One for each series, in their order.
    pieces: Sequence[Piece]


class BarSegment(NamedTuple):
    """As it is drawn."""

    x: float
    y: float
    width: float
    height: float


def usd_tick(value: Decimal) -> str:
    """`$0`, `$0.50`, `$1,250`: cents where there are any, and no more digits than it takes."""
    whole, _, fraction = f"{value.normalize():,f}".partition(".")
    return f"${whole}.{fraction:0<2}" if fraction else f"${whole}"


def count_tick(value: Decimal) -> str:
    """`0`, `2.5`, `1,250`."""
    return f"{value.normalize():,f}"


def stacked_bars(
    bars: Sequence[Bar],
    *,
    title: str,
    tick: Callable[[Decimal], str] = usd_tick,
    least: Decimal = Decimal(),
    width: int = WIDTH,
) -> Markup:
    """Bars by day, each of pieces; `title` is what a screen reader says of the whole. `least`: how high the axis is at
    least, where its quarters would be no whole numbers."""
    highest = max((sum((piece.value for piece in bar.pieces), Decimal()) for bar in bars), default=Decimal())
    top = round_top(max(highest, least))
    left = max(LEFT_LEAST, 8 + DIGIT_WIDTH * max(len(tick(top * quarter / 4)) for quarter in range(5)))
    slot = (width - left - RIGHT) / max(len(bars), 1)
    drawn = [
        _grid(top, left, width, tick),
        *(_bar(bar, left + slot * at, slot, top) for at, bar in enumerate(bars)),
        _labels(bars, left, slot),
    ]
    # A picture has nothing in it that could be pressed; bars that are links make it a group of these.
    role = "group" if any(piece.href for bar in bars for piece in bar.pieces) else "img"
    return Markup('<svg class="chart{}" viewBox="0 0 {} {}" role="{}" aria-label="{}">{}</svg>').format(
        "" if width == WIDTH else " half", width, HEIGHT, role, title, Markup("").join(drawn)
    )


def legend(names: Sequence[str]) -> Markup:
    rows = Markup("").join(
        Markup(
            '<li><svg class="dot" viewBox="0 0 10 10" aria-hidden="true"><rect class="s{}" width="10" height="10"/>'
            "</svg>{}</li>"
        ).format(at % SERIES_MOST, name)
        for at, name in enumerate(names)
    )
    return Markup('<ul class="legend">{}</ul>').format(rows)


def sparkline(values: Sequence[Decimal]) -> Markup:
    """The shape of a figure over time; said by the figure beside it."""
    if len(values) < 2:
        return Markup("")
    highest = max([*values, Decimal(1) / 1_000_000])
    step = SPARK_WIDTH / (len(values) - 1)
    dots = " ".join(
        f"{at * step:.1f},{SPARK_HEIGHT - 3 - float(value / highest) * (SPARK_HEIGHT - 6):.1f}"
        for at, value in enumerate(values)
    )
    below = f"0,{SPARK_HEIGHT} {dots} {SPARK_WIDTH},{SPARK_HEIGHT}"
    return Markup(
        '<svg class="spark" viewBox="0 0 {} {}" aria-hidden="true"><polygon points="{}"/><polyline points="{}"/></svg>'
    ).format(SPARK_WIDTH, SPARK_HEIGHT, below, dots)


def meter(part: int, whole: int, *, told: str, warn: bool = False) -> Markup:
    """How much of something is there, as a bar; `told` says it in words."""
    share = max(0.0, min(1.0, part / whole)) if whole > 0 else 0.0
    return Markup(
        '<svg class="meter" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label="{}">'
        '<rect class="rail" width="100" height="6"/><rect class="{}" width="{}" height="6"/></svg>'
    ).format(told, "fill warn" if warn else "fill", f"{share * 100:.2f}")


def round_top(highest: Decimal) -> Decimal:
    """The next round number at or above the highest bar whose quarters are round, too."""
    if highest <= 0:
        return Decimal(1)
    power = Decimal(10) ** highest.adjusted()
    return next(
        top
        for top in (power * step for step in map(Decimal, ("1", "1.2", "1.6", "2", "2.4", "3", "4", "6", "8", "10")))
        if top >= highest
    )


def _grid(top: Decimal, left: int, width: int, tick: Callable[[Decimal], str]) -> Markup:
    lines = []
    for quarter in range(5):
        y = HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * quarter / 4
        lines.append(
            Markup(
                '<line class="grid" x1="{}" x2="{}" y1="{}" y2="{}"/>'
                '<text class="tick" aria-hidden="true" x="{}" y="{}" text-anchor="end">{}</text>'
            ).format(left, width - RIGHT, f"{y:.1f}", f"{y:.1f}", left - 8, f"{y + 4:.1f}", tick(top * quarter / 4))
        )
    return Markup("").join(lines)


def _bar(bar: Bar, begins: float, slot: float, top: Decimal) -> Markup:
    width, x = slot * 0.62, begins + slot * 0.19
    y, drawn = float(HEIGHT - BOTTOM), []
    for series, piece in enumerate(bar.pieces):
        height = float(piece.value / top) * (HEIGHT - TOP - BOTTOM)
        if height <= 0:
            continue
        y -= height
        drawn.append(_piece(piece, series, BarSegment(x, y, width, height)))
    return Markup("").join(drawn)


def _piece(piece: Piece, series: int, where: BarSegment) -> Markup:
    drawn = Markup('<rect class="bar s{}" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>').format(
        series % SERIES_MOST, *(f"{figure:.1f}" for figure in where), piece.told
    )
    return Markup('<a href="{}" aria-label="{}">{}</a>').format(piece.href, piece.told, drawn) if piece.href else drawn


def _labels(bars: Sequence[Bar], left: int, slot: float) -> Markup:
    every = -(-len(bars) // LABELS_MOST) or 1
    return Markup("").join(
        Markup('<text class="tick" aria-hidden="true" x="{}" y="{}" text-anchor="middle">{}</text>').format(
            f"{left + slot * (at + 0.5):.1f}", HEIGHT - 6, bar.label
        )
        for at, bar in enumerate(bars)
        if at % every == 0
    )
