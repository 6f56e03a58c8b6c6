"""The picture of a soak, memory and descriptors over time: `python -m proofs.faults.fleet.soak_plot`.

It is drawn from the samples that `make prove-faults ONLY=15 SIZE=full` leaves in docs/reference/soak.json.
"""

from collections.abc import Sequence
from html import escape

import msgspec

from proofs.rig.project import PROJECT

DOCS = PROJECT / "docs"
FIGURES = DOCS / "reference" / "soak.json"
PICTURE = DOCS / "guides" / "soak.svg"

WIDTH, LEFT, RIGHT, TOP = 760, 70, 32, 60
PANEL, GAP = 110, 44
TICKS = 6

# Readable on a light page and on a dark one: the background is the page's own.
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #24292f; }
.title { font-weight: 600; font-size: 15px; }
.small { font-size: 12px; }
.line { fill: none; stroke: #2f6fb5; stroke-width: 1.5; }
.axis { stroke: #8c959f; stroke-width: 1; }
.warm { fill: #8c959f; fill-opacity: 0.15; }
@media (prefers-color-scheme: dark) { text { fill: #d0d7de; } .line { stroke: #5b9be0; } }
"""


class Sample(msgspec.Struct, frozen=True):
    # Seconds since the soak began.
    at: float
    memory_mb: float
    # Of all workers, without those to providers, which are kept for a while.
    descriptors: int


class Soak(msgspec.Struct, frozen=True, kw_only=True):
    """What a soak sampled, its slope after the warm-up, and the command that ran it."""

    command: str
    load: str
    warm_up_seconds: float
    memory_mb_per_hour: float
    samples: Sequence[Sample]


def leave(soak: Soak) -> None:
    """Write the samples down, and draw them."""
    FIGURES.write_bytes(msgspec.json.format(msgspec.json.encode(soak)) + b"\n")
    PICTURE.write_text(drawn(soak), encoding="utf-8")


def drawn(soak: Soak) -> str:
    """Two panels over the same time, each from zero to a little above the most."""
    height = TOP + 2 * PANEL + GAP + 40
    title = (
        f"Memory and descriptors over {soak.samples[-1].at / 60:.0f} minutes: {soak.memory_mb_per_hour:+.1f} MB an hour"
    )
    memory = [(sample.at, sample.memory_mb) for sample in soak.samples]
    descriptors = [(sample.at, float(sample.descriptors)) for sample in soak.samples]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{title}">',
            f"<style>{STYLE}</style>",
            f'<text class="title" x="12" y="24">{title}</text>',
            f'<text class="small" x="12" y="44">{escape(soak.command)}, {escape(soak.load)}; shaded: warm-up</text>',
            *_panel(memory, soak.warm_up_seconds, TOP, "MB"),
            *_panel(descriptors, soak.warm_up_seconds, TOP + PANEL + GAP, "descriptors"),
            "</svg>\n",
        ]
    )


def _panel(values: Sequence[tuple[float, float]], warm_up_seconds: float, top: int, unit: str) -> list[str]:
    longest, most = max(values[-1][0], 1.0), 1.1 * max(value for _, value in values)
    width, bottom = WIDTH - LEFT - RIGHT, top + PANEL

    def x(at: float) -> float:
        return LEFT + width * at / longest

    def y(value: float) -> float:
        return bottom - PANEL * value / most

    line = " ".join(f"{x(at):.1f},{y(value):.1f}" for at, value in values)
    last = values[-1][1]
    return [
        f'<rect class="warm" x="{LEFT}" y="{top}" width="{x(warm_up_seconds) - LEFT:.1f}" height="{PANEL}"/>',
        f'<path class="axis" fill="none" d="M{LEFT} {top} V{bottom} H{WIDTH - RIGHT}"/>',
        f'<polyline class="line" points="{line}"/>',
        f'<text class="small" x="{LEFT - 8}" y="{bottom}" text-anchor="end">0</text>',
        f'<text class="small" x="{LEFT - 8}" y="{y(last) + 4:.1f}" text-anchor="end">{last:.0f}</text>',
        f'<text class="small" x="{LEFT + 6}" y="{bottom - 6}">{unit}</text>',
        *(_tick(x(at), bottom, at) for at in _minutes(longest)),
    ]


def _minutes(longest: float) -> list[float]:
    return [longest * number / TICKS for number in range(TICKS + 1)]


def _tick(x: float, bottom: int, at: float) -> str:
    return f'<text class="small" x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{at / 60:.0f} min</text>'


def main() -> None:
    PICTURE.write_text(drawn(msgspec.json.decode(FIGURES.read_bytes(), type=Soak)), encoding="utf-8")


if __name__ == "__main__":
    main()
