"""The picture of where the time of a call goes: a bar for the middle and one for the tail, by the number of callers."""

from collections.abc import Sequence

from proofs.speed.latency import Latency

WIDTH, TOP, ROW, BAR = 760, 76, 28, 16
LEFT, RIGHT = 150, 90
# By part, in the order of `Latency.parts`; readable on a light page and on a dark one.
COLOURS = ("#8b949e", "#b5483f", "#2f6fb5", "#d9822b", "#57854a")
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #24292f; }
.title { font-weight: 600; font-size: 15px; }
.small { font-size: 12px; }
@media (prefers-color-scheme: dark) { text { fill: #d0d7de; } }
"""
TITLE = "Where the time of a call goes"
LEGEND_WIDTHS = (0, 82, 146, 240, 316)


def drawn(rows: Sequence[Latency]) -> str:
    """Each bar is as long as the others: they tell shares, and the figure behind them how long it was."""
    height = TOP + ROW * len(rows) + 12
    names = list(rows[0].parts) if rows else []
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{TITLE}">',
            f"<style>{STYLE}</style>",
            f'<text class="title" x="12" y="24">{TITLE}</text>',
            *(_legend(12 + x, colour, name) for x, colour, name in zip(LEGEND_WIDTHS, COLOURS, names, strict=False)),
            *(_row(row, TOP + ROW * place) for place, row in enumerate(rows)),
            "</svg>\n",
        ]
    )


def _legend(x: int, colour: str, words: str) -> str:
    return (
        f'<rect fill="{colour}" x="{x}" y="42" width="10" height="10"/>'
        f'<text class="small" x="{x + 16}" y="51">{words}</text>'
    )


def _row(row: Latency, y: int) -> str:
    whole_ms = sum(row.parts.values()) or 1.0
    scale, x, bars = (WIDTH - LEFT - RIGHT) / whole_ms, float(LEFT), []
    for colour, part_ms in zip(COLOURS, row.parts.values(), strict=True):
        bars.append(f'<rect fill="{colour}" x="{x:.1f}" y="{y}" width="{part_ms * scale:.1f}" height="{BAR}"/>')
        x += part_ms * scale
    callers = "1 caller" if row.callers == 1 else f"{row.callers} callers"
    return (
        f'<text x="{LEFT - 10}" y="{y + 13}" text-anchor="end">{callers}, {row.of}</text>'
        + "".join(bars)
        + f'<text x="{WIDTH - RIGHT + 6}" y="{y + 13}">{whole_ms:.1f} ms</text>'
    )
