"""The verdict: which bars there are, which of them a run has missed, and how that is said."""

from collections.abc import Iterator, Mapping

import msgspec


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """A figure must be this much at least, or at most. Those that depend on the machine's mood are timed."""

    name: str
    least: float | None = None
    most: float | None = None
    timed: bool = True

    def miss(self, figure: float) -> str | None:
        if self.least is not None and figure < self.least:
            return f"{self.name} {figure:g} is under {self.least:g}"
        if self.most is not None and figure > self.most:
            return f"{self.name} {figure:g} is over {self.most:g}"
        return None


BARS = (
    Bar(name="added_p50_ms", most=4),
    Bar(name="added_p99_ms", most=25),
    Bar(name="growth", most=1.10),
    Bar(name="peers_x", least=30),
    Bar(name="two_workers", most=1.15),
    Bar(name="ready_s", most=2),
    Bar(name="late_ms", most=100),
    Bar(name="stream_kb", most=40),
    Bar(name="stream_kb", most=64, timed=False),
    Bar(name="chunks_kb", most=64, timed=False),
    Bar(name="idle_mb", most=120),
    # What the system does not take back when it is asked to stays in here.
    Bar(name="idle_mb", most=170, timed=False),
)


def missed(figures: Mapping[str, float | None], *, timings: bool) -> Iterator[str]:
    """What is missed, in plain words. What was not measured is not judged."""
    for bar in BARS:
        figure = figures[bar.name]
        if figure is not None and (timings or not bar.timed) and (miss := bar.miss(figure)):
            yield miss
