"""The text format of Prometheus, version 0.0.4."""

from collections.abc import Iterable, Iterator, Mapping

from tollkeeper.metrics.series import Distribution, Sample
from tollkeeper.metrics.table import TABLE, Metric

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# The lines of each metric, by its name.
Lines = Mapping[str, str]


def lines_of(samples: Iterable[Sample], worker: int) -> dict[str, str]:
    """`worker`: the number of this process on its node."""
    found: dict[str, list[str]] = {}
    for metric, values, value in samples:
        names, shown = (metric.labels, values)
        if metric.of_process:
            names, shown = (*names, "worker"), (*shown, str(worker))
        labels = ",".join(f'{name}="{_escaped(text)}"' for name, text in zip(names, shown, strict=True))
        found.setdefault(metric.name, []).extend(_lines(metric, labels, value))
    return {name: "\n".join(lines) for name, lines in found.items()}


def page(told: Iterable[Lines]) -> str:
    """What several processes tell, as one page: each metric stands there once, as the format wants it."""
    parts = list(told)
    return "".join(_section(metric, [part[metric.name] for part in parts if metric.name in part]) for metric in TABLE)


def _section(metric: Metric, lines: list[str]) -> str:
    if not lines:
        return ""
    told = metric.help.replace("\\", r"\\").replace("\n", r"\n")
    return "\n".join([f"# HELP {metric.name} {told}", f"# TYPE {metric.name} {metric.kind}", *lines, ""])


def _lines(metric: Metric, labels: str, value: float | Distribution) -> Iterator[str]:
    if not isinstance(value, Distribution):
        yield f"{metric.name}{{{labels}}} {_number(value)}" if labels else f"{metric.name} {_number(value)}"
        return
    so_far, comma = 0, "," if labels else ""
    for bound, count in zip((*map(_number, value.bounds), "+Inf"), value.counts, strict=True):
        so_far += count
        yield f'{metric.name}_bucket{{{labels}{comma}le="{bound}"}} {so_far}'
    yield f"{metric.name}_sum{{{labels}}} {_number(value.total)}"
    yield f"{metric.name}_count{{{labels}}} {so_far}"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
