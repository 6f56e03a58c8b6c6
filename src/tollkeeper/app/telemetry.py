"""Whether calls are told to an OpenTelemetry collector, and by what."""

import sys
from collections.abc import Awaitable, Callable, Coroutine, Sequence

import msgspec

from tollkeeper.relay.ended import EndedCall
from tollkeeper.settings import Settings, headers_in

# Python's own is ten times as long: so long a call could wait for the thread that encodes spans, again and again.
SWITCH_SECONDS = 0.0005


class TelemetryWires(msgspec.Struct, frozen=True):
    """What a worker process does for a collector: nothing where there is none."""

    on_ended: Callable[[EndedCall], None] | None = None
    always: Sequence[Callable[[], Coroutine[None, None, None]]] = ()
    ends: Sequence[Callable[[], Awaitable[None]]] = ()
    dropped_calls: Callable[[], int] | None = None


def telemetry_of(settings: Settings) -> TelemetryWires:
    if not settings.otel_endpoint:
        return TelemetryWires()
    # They need the extra, half a second and 10 MB: nodes without a collector do without them.
    from tollkeeper.telemetry.collector import Collector  # noqa: PLC0415
    from tollkeeper.telemetry.telemetry import Telemetry  # noqa: PLC0415

    sys.setswitchinterval(SWITCH_SECONDS)
    headers = headers_in(settings.otel_headers.reveal())
    collector = Collector(settings.otel_endpoint, headers, service=settings.otel_service_name, node=settings.node)
    telemetry = Telemetry(collector, sample_ratio=settings.otel_sample_ratio, every_seconds=settings.otel_seconds)
    return TelemetryWires(telemetry.note, (telemetry.follow,), (telemetry.close,), lambda: telemetry.dropped_calls)
