"""The collector that spans and metrics are sent to, over OTLP/HTTP. All of it waits, and belongs into a thread.

Rules of this file
1. Whatever the collector does, sending ends, and returns what was not taken. After a batch that was not taken none is
   tried, and nothing is kept for later.
2. That it takes nothing is logged once, and once that it does again.
"""

import logging
import os
import socket
import time
from collections.abc import Mapping, Sequence
from uuid import uuid4

from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics.export import MetricExportResult
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace.export import SpanExportResult

from tollkeeper import __version__
from tollkeeper.relay.ended import EndedCall
from tollkeeper.telemetry.figures import HistogramReading
from tollkeeper.telemetry.histograms import metrics_data
from tollkeeper.telemetry.spans import Clocks, SpanMaker

SEND_SECONDS = 5.0
# Python runs one thread at a time: a call that comes in while a batch is encoded waits for that, some milliseconds.
CALLS_AT_ONCE = 50
WORDS_MOST = 200
# The library whose words are read here, and not logged each time.
LIBRARY = "opentelemetry"

log = logging.getLogger(__name__)


class LastWords(logging.Handler):
    """What the library said last: why it could not send something."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.text = record.getMessage()[:WORDS_MOST]


class Collector:
    """The exporters of one worker process, used by one thread at a time."""

    def __init__(self, endpoint: str, headers: Mapping[str, str], *, service: str, node: str) -> None:
        self._resource = resource_of(service, node)
        self._spans = SpanMaker(self._resource)
        base, compression = endpoint.rstrip("/"), Compression.Gzip
        self._traces = OTLPSpanExporter(
            f"{base}/v1/traces", headers=headers, timeout=SEND_SECONDS, compression=compression
        )
        self._metrics = OTLPMetricExporter(
            f"{base}/v1/metrics", headers=headers, timeout=SEND_SECONDS, compression=compression
        )
        self._begun_ns = time.time_ns()
        self._takes = True
        self._words = _listen()

    def send(self, calls: Sequence[EndedCall], readings: Sequence[HistogramReading]) -> int:
        """Send spans of calls, and how histograms stand. Return how many of the calls were not taken."""
        left = len(calls)
        while left and self._send_spans(some := calls[-left:][:CALLS_AT_ONCE]):
            left -= len(some)
        taken = not left
        if readings:
            data = metrics_data(readings, self._resource, self._begun_ns, time.time_ns())
            taken &= self._metrics.export(data) is MetricExportResult.SUCCESS
        self._note(taken)
        return left

    def close(self) -> None:
        """End what is still being sent."""
        self._traces.shutdown()  # type: ignore[no-untyped-call]
        self._metrics.shutdown()

    def _send_spans(self, calls: Sequence[EndedCall]) -> bool:
        clocks = Clocks.now()
        spans = [span for call in calls for span in self._spans.spans_of(call, clocks)]
        return self._traces.export(spans) is SpanExportResult.SUCCESS

    def _note(self, taken: bool) -> None:
        if taken == self._takes:
            return
        self._takes = taken
        if taken:
            log.info("the OpenTelemetry collector takes traces and metrics again")
        else:
            log.warning("the OpenTelemetry collector does not take what it is sent: %s", self._words.text)


def resource_of(service: str, node: str) -> Resource:
    """What sends: each process is an instance of its own, for as long as it lives."""
    return Resource.create(
        {
            "service.name": service,
            "service.version": __version__,
            "service.instance.id": str(uuid4()),
            "host.name": socket.gethostname(),
            "process.pid": os.getpid(),
            "tollkeeper.node": node,
        }
    )


def _listen() -> LastWords:
    words, library = LastWords(), logging.getLogger(LIBRARY)
    library.handlers = [words]
    library.propagate = False
    return words
