"""An OpenTelemetry collector for tests and proofs: a real HTTP server that keeps what it was sent, byte by byte."""

import gzip
import threading
from collections.abc import Iterable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import msgspec
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import HistogramDataPoint
from opentelemetry.proto.trace.v1.trace_pb2 import Span

TRACES, METRICS = "/v1/traces", "/v1/metrics"
Values = dict[str, object]


class SeenSpan(msgspec.Struct, frozen=True):
    name: str
    kind: str
    trace_id: str
    span_id: str
    parent_id: str
    # UNSET, OK or ERROR, and what is said with it.
    status: str
    status_text: str
    begun_ns: int
    ended_ns: int
    attributes: Values
    resource: Values
    events: int

    @property
    def seconds(self) -> float:
        return (self.ended_ns - self.begun_ns) / 1e9


class SeenHistogram(msgspec.Struct, frozen=True):
    name: str
    unit: str
    attributes: Values
    resource: Values
    count: int
    total: float
    counts: list[int]
    bounds: list[float]


class SentRequest(msgspec.Struct, frozen=True):
    """`body`: unpacked."""

    path: str
    headers: dict[str, str]
    body: bytes


class OtlpServer:
    """From start to stop. `status`: what it answers; `is_held`: it takes requests and does not answer them until it is
    stopped."""

    def __init__(self, *, status: int = 200, is_held: bool = False) -> None:
        self.status = status
        self.requests: list[SentRequest] = []
        self._let_go = threading.Event()
        if not is_held:
            self._let_go.set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._let_go.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def spans(self) -> list[SeenSpan]:
        return [span for request in self._of(TRACES) for span in _spans(request.body)]

    def of_call(self, request_id: str) -> list[SeenSpan]:
        """The spans of one call: its own first, then those of attempts in their order."""
        seen = self.spans()
        own = [span for span in seen if span.attributes.get("tollkeeper.request_id") == request_id]
        below = [span for span in seen if own and span.parent_id == own[0].span_id]
        return [*own, *sorted(below, key=lambda span: span.begun_ns)]

    def histograms(self) -> list[SeenHistogram]:
        """As each process told them last."""
        last: dict[object, list[SeenHistogram]] = {}
        for request in self._of(METRICS):
            found = list(_histograms(request.body))
            last |= {histogram.resource["service.instance.id"]: found for histogram in found}
        return [histogram for found in last.values() for histogram in found]

    def _of(self, path: str) -> list[SentRequest]:
        return [request for request in list(self.requests) if request.path == path]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers["content-encoding"] == "gzip":
                    body = gzip.decompress(body)
                headers = {name.lower(): value for name, value in self.headers.items()}
                server.requests.append(SentRequest(self.path, headers, body))
                server._let_go.wait()
                self.send_response(server.status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Tests have their own output."""

        return Handler


def _spans(body: bytes) -> Iterator[SeenSpan]:
    for resource_spans in ExportTraceServiceRequest.FromString(body).resource_spans:
        resource = _values(resource_spans.resource.attributes)
        for span in (span for scope in resource_spans.scope_spans for span in scope.spans):
            yield SeenSpan(
                name=span.name,
                kind=Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_"),
                trace_id=span.trace_id.hex(),
                span_id=span.span_id.hex(),
                parent_id=span.parent_span_id.hex(),
                status={0: "UNSET", 1: "OK", 2: "ERROR"}[span.status.code],
                status_text=span.status.message,
                begun_ns=span.start_time_unix_nano,
                ended_ns=span.end_time_unix_nano,
                attributes=_values(span.attributes),
                resource=resource,
                events=len(span.events) + len(span.links),
            )


def _histograms(body: bytes) -> Iterator[SeenHistogram]:
    for resource_metrics in ExportMetricsServiceRequest.FromString(body).resource_metrics:
        resource = _values(resource_metrics.resource.attributes)
        for metric in (metric for scope in resource_metrics.scope_metrics for metric in scope.metrics):
            for point in metric.histogram.data_points:
                yield _histogram(metric.name, metric.unit, resource, point)


def _histogram(name: str, unit: str, resource: Values, point: HistogramDataPoint) -> SeenHistogram:
    return SeenHistogram(
        name=name,
        unit=unit,
        attributes=_values(point.attributes),
        resource=resource,
        count=point.count,
        total=point.sum,
        counts=list(point.bucket_counts),
        bounds=list(point.explicit_bounds),
    )


def _values(pairs: Iterable[KeyValue]) -> Values:
    return {pair.key: getattr(pair.value, str(pair.value.WhichOneof("value"))) for pair in pairs}


def total(histograms: Iterable[SeenHistogram], name: str, **attributes: object) -> int:
    """How many values there are under this name, with at least these attributes (dots written as `_`)."""
    return sum(
        histogram.count for histogram in histograms if histogram.name == name and _has(histogram.attributes, attributes)
    )


def _has(found: Mapping[str, object], wanted: Mapping[str, object]) -> bool:
    told = {name.replace(".", "_"): value for name, value in found.items()}
    return all(told.get(name) == value for name, value in wanted.items())
