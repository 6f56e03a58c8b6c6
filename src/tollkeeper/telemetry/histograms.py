"""What was counted, as OpenTelemetry's exporter takes it: cumulative histograms since the process began."""

from collections.abc import Iterable

from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    ResourceMetrics,
    ScopeMetrics,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from tollkeeper import __version__
from tollkeeper.telemetry.figures import HistogramReading
from tollkeeper.telemetry.spans import SCOPE


def metrics_data(readings: Iterable[HistogramReading], resource: Resource, since_ns: int, now_ns: int) -> MetricsData:
    found: dict[str, Metric] = {}
    points: dict[str, list[HistogramDataPoint]] = {}
    for reading in readings:
        instrument = reading.instrument
        if instrument.name not in found:
            data = Histogram(points.setdefault(instrument.name, []), AggregationTemporality.CUMULATIVE)
            found[instrument.name] = Metric(instrument.name, instrument.about, instrument.unit, data)
        points[instrument.name].append(_point(reading, since_ns, now_ns))
    scope = InstrumentationScope(SCOPE, __version__)
    return MetricsData([ResourceMetrics(resource, [ScopeMetrics(scope, list(found.values()), "")], "")])


def _point(reading: HistogramReading, since_ns: int, now_ns: int) -> HistogramDataPoint:
    named = zip(reading.instrument.attributes, reading.labels, strict=True)
    return HistogramDataPoint(
        attributes={name: value for name, value in named if value is not None},
        start_time_unix_nano=since_ns,
        time_unix_nano=now_ns,
        count=sum(reading.counts),
        sum=reading.total,
        bucket_counts=reading.counts,
        explicit_bounds=reading.instrument.bounds,
        # Not counted. The format may leave them out, though this type does not say so.
        min=None,  # type: ignore[arg-type]
        max=None,  # type: ignore[arg-type]
    )
