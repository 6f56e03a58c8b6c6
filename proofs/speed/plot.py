"""The pictures of what a call costs and how long it takes, stage by stage: `python -m proofs.speed.plot`.

They are drawn from the figures that `make prove-speed SIZE=full` leaves in docs/reference/speed.json.
"""

from html import escape

import msgspec

from proofs.rig.project import PROJECT
from proofs.speed import latency_plot
from proofs.speed.latency import Latency
from proofs.speed.stages import STAGES

DOCS = PROJECT / "docs"
FIGURES = DOCS / "reference" / "speed.json"
PICTURE = DOCS / "guides" / "speed.svg"
LATENCY_PICTURE = DOCS / "guides" / "latency.svg"

WIDTH, TOP, ROW, BAR = 760, 76, 26, 16
LEFT, RIGHT = 110, 90

# Readable on a light page and on a dark one: the background is the page's own.
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #24292f; }
.title { font-weight: 600; font-size: 15px; }
.small { font-size: 12px; }
.full { fill: #d9822b; }
.bare { fill: #2f6fb5; }
@media (prefers-color-scheme: dark) { text { fill: #d0d7de; } .full { fill: #e39a4d; } .bare { fill: #5b9be0; } }
"""


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    """µs of CPU per call by stage, of the gateway and of the bare proxy, and the command that measured them. And where
    the time of a call goes."""

    command: str
    full: dict[str, float]
    bare: dict[str, float]
    latency: list[Latency] = []


def leave(costs: Costs) -> None:
    """Write the figures down, and draw them."""
    FIGURES.write_bytes(msgspec.json.format(msgspec.json.encode(costs)) + b"\n")
    draw(costs)


def draw(costs: Costs) -> None:
    PICTURE.write_text(drawn(costs), encoding="utf-8")
    if costs.latency:
        LATENCY_PICTURE.write_text(latency_plot.drawn(costs.latency), encoding="utf-8")


def drawn(costs: Costs) -> str:
    """Horizontal bars, one for each stage."""
    longest = max(*costs.full.values(), *costs.bare.values(), 1.0)
    scale = (WIDTH - LEFT - RIGHT) / longest
    height = TOP + ROW * len(STAGES) + 12
    title = f"CPU per call: {sum(costs.full.values()):.0f} µs, of a bare proxy {sum(costs.bare.values()):.0f} µs"
    rows = [_row(stage, costs, TOP + ROW * place, scale) for place, stage in enumerate(STAGES)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{title}">',
            f"<style>{STYLE}</style>",
            f'<text class="title" x="12" y="24">{title}</text>',
            f'<text class="small" x="12" y="44">{escape(costs.command)}</text>',
            _legend(12, "bare", "also in the bare proxy"),
            _legend(190, "full", "what the gateway adds"),
            *rows,
            "</svg>\n",
        ]
    )


def _legend(x: int, kind: str, words: str) -> str:
    return (
        f'<rect class="{kind}" x="{x}" y="54" width="10" height="10"/>'
        f'<text class="small" x="{x + 16}" y="63">{words}</text>'
    )


def _row(stage: str, costs: Costs, y: int, scale: float) -> str:
    """The bare proxy's part lies first, at most as long as the whole."""
    full_us = costs.full.get(stage, 0.0)
    bare_us = min(full_us, costs.bare.get(stage, 0.0))
    bare_width, full_width = bare_us * scale, full_us * scale
    return (
        f'<text x="{LEFT - 10}" y="{y + 13}" text-anchor="end">{stage}</text>'
        f'<rect class="bare" x="{LEFT}" y="{y}" width="{bare_width:.1f}" height="{BAR}"/>'
        f'<rect class="full" x="{LEFT + bare_width:.1f}" y="{y}" width="{full_width - bare_width:.1f}" height="{BAR}"/>'
        f'<text x="{LEFT + full_width + 6:.1f}" y="{y + 13}">{full_us:.0f} µs</text>'
    )


def main() -> None:
    draw(msgspec.json.decode(FIGURES.read_bytes(), type=Costs))


if __name__ == "__main__":
    main()
