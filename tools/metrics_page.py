"""The reference page of the metrics, from their table."""

from collections.abc import Iterator

from tollkeeper.metrics.table import TABLE, Metric


def metrics_page() -> Iterator[str]:
    yield "# Metrics\n"
    yield "`GET /metrics` on the ports that `TOLLKEEPER_METRICS_PORT` (`tollkeeper serve`),"
    yield "`TOLLKEEPER_CONSOLE_METRICS_PORT` and `TOLLKEEPER_WORK_METRICS_PORT` name, in Prometheus's text format."
    yield "[How to watch them](../guides/watching.md). No label has a customer, a key, an IP or anything that a caller"
    yield "can make up; models are the catalog's. Where a metric is of a process, it also has the label `worker`: the"
    yield "number of the worker process on its node.\n"
    yield "| metric | kind | labels | what it says |\n|---|---|---|---|"
    for metric in TABLE:
        yield f"| `{metric.name}` | {metric.kind} | {_labels(metric)} | {metric.help} |"


def _labels(metric: Metric) -> str:
    labels = (*metric.labels, *(("worker",) if metric.of_process else ()))
    return ", ".join(f"`{label}`" for label in labels)
