"""Spans of a call that is over: one of the call, and below it one of each attempt at a provider account.

Rules of this file
1. Spans are made afterwards, from what the call has noted: none is open while the call is under way.
2. A call without a `traceparent` that can be used is a trace of its own, whose id is the call's request id.
3. Attributes are those of `conventions`. No content, no key, no customer, no text of an exception.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from urllib.parse import urlsplit

import msgspec
from opentelemetry.context import Context
from opentelemetry.metrics import NoOpMeterProvider
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from tollkeeper import __version__
from tollkeeper.relay.dispatch.attempt import Attempt
from tollkeeper.relay.ended import EndedCall
from tollkeeper.telemetry import conventions as names

SCOPE = "tollkeeper"
NANOSECONDS = 1_000_000_000
PORTS = {"http": 80, "https": 443}
SERVERS_REMEMBERED = 1024
# A caller who left was sent no status; the call log writes this one for them.
CLIENT_CLOSED = 499

Attributes = dict[str, str | int | float]


class Clocks(msgspec.Struct, frozen=True):
    """What is to be added to the clocks that calls are timed with, in order to get Unix time."""

    # `time.perf_counter`, which times calls; and `time.monotonic`, which times attempts.
    call_seconds: float
    attempt_seconds: float

    @classmethod
    def now(cls) -> "Clocks":
        return cls(time.time() - time.perf_counter(), time.time() - time.monotonic())


class _Ids(RandomIdGenerator):
    """A trace that begins here has the id that is set."""

    trace_id = 0

    def generate_trace_id(self) -> int:
        return self.trace_id


class _Keeping(SpanProcessor):
    def __init__(self, keep: Callable[[ReadableSpan], None]) -> None:
        self._keep = keep

    def on_end(self, span: ReadableSpan) -> None:
        self._keep(span)


class SpanMaker:
    """Used by one thread at a time."""

    def __init__(self, resource: Resource) -> None:
        self._made: list[ReadableSpan] = []
        self._ids = _Ids()
        provider = TracerProvider(
            # What is sampled is decided before anything is made.
            sampler=ALWAYS_ON,
            resource=resource,
            shutdown_on_exit=False,
            id_generator=self._ids,
            meter_provider=NoOpMeterProvider(),
        )
        provider.add_span_processor(_Keeping(self._made.append))
        self._tracer = provider.get_tracer(SCOPE, __version__)

    def spans_of(self, call: EndedCall, clocks: Clocks) -> Sequence[ReadableSpan]:
        """The attempts' first, then the call's own."""
        self._made.clear()
        self._ids.trace_id = call.request_id.int
        begun = call.begun + clocks.call_seconds
        operation = names.OPERATIONS[call.endpoint]
        span = self._tracer.start_span(
            _name(operation, call.model),
            context=_parent_of(call),
            kind=SpanKind.SERVER,
            attributes=_of_call(call, operation),
            start_time=_nanoseconds(begun),
        )
        if names.is_fault(call):
            span.set_status(StatusCode.ERROR)
        below = set_span_in_context(span, Context())
        for attempt, seconds in names.timed_attempts(call):
            self._add_attempt(call, attempt, seconds, below, clocks)
        span.end(_nanoseconds(begun + call.seconds))
        return tuple(self._made)

    def _add_attempt(self, call: EndedCall, attempt: Attempt, seconds: float, below: Context, clocks: Clocks) -> None:
        begun = attempt.begun + clocks.attempt_seconds
        operation = names.OPERATIONS[call.endpoint]
        attributes = _of_attempt(call, attempt, operation)
        span = self._tracer.start_span(
            _name(operation, attributes.get(names.REQUEST_MODEL)),
            context=below,
            kind=SpanKind.CLIENT,
            attributes=attributes,
            start_time=_nanoseconds(begun),
        )
        if names.ERROR in attributes:
            span.set_status(StatusCode.ERROR)
        span.end(_nanoseconds(begun + seconds))


def _parent_of(call: EndedCall) -> Context:
    parent = call.trace_parent
    if parent is None:
        return Context()
    context = SpanContext(parent.trace_id, parent.span_id, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
    return set_span_in_context(NonRecordingSpan(context), Context())


def _of_call(call: EndedCall, operation: str) -> Attributes:
    attributes: Attributes = {
        names.OPERATION: operation,
        names.PROVIDER: names.answering_provider(call),
        names.ENDPOINT: call.endpoint,
        names.REQUEST_ID: str(call.request_id),
    }
    known: Mapping[str, str | int | float | None] = {
        names.REQUEST_MODEL: call.model,
        names.FIRST_CHUNK_SECONDS: call.first_byte_seconds,
        names.STATUS: None if call.status == CLIENT_CLOSED else call.status,
        names.ERROR: call.code,
        names.ADDRESS: None if call.address is None else call.address.value,
    }
    attributes.update({name: value for name, value in known.items() if value is not None})
    if call.settled is not None:
        attributes[names.ENDING] = call.settled.ending.value
        if call.code is None and call.model is not None:
            # As the caller was told it.
            attributes[names.RESPONSE_MODEL] = call.model
    tokens = names.tokens_of(call)
    if tokens is not None:
        attributes[names.INPUT_TOKENS] = tokens.input_units
        attributes[names.CACHED_TOKENS] = tokens.cached_units
        attributes[names.OUTPUT_TOKENS] = tokens.output_units
    return attributes


def _of_attempt(call: EndedCall, attempt: Attempt, operation: str) -> Attributes:
    attributes: Attributes = {
        names.OPERATION: operation,
        names.PROVIDER: names.provider_of(attempt),
        names.PROVIDER_ACCOUNT: attempt.account,
    }
    if call.model is not None:
        # What the provider calls it, where that is another name.
        attributes[names.REQUEST_MODEL] = (attempt.provider and attempt.provider.name_of(call.model)) or call.model
    if attempt.provider is not None:
        attributes[names.SERVER_ADDRESS], attributes[names.SERVER_PORT] = _server(attempt.provider.base_url)
    if attempt.status is not None:
        attributes[names.STATUS] = attempt.status
    error = call.settled and names.error_of_attempt(attempt, call.settled.ending)
    if error:
        attributes[names.ERROR] = error
    return attributes


def _name(operation: str, model: object) -> str:
    return operation if model is None else f"{operation} {model}"


@lru_cache(SERVERS_REMEMBERED)
def _server(base_url: str) -> tuple[str, int]:
    """Host and port alone: a path may name what is the operator's own affair."""
    address = urlsplit(base_url)
    return address.hostname or "", address.port or PORTS.get(address.scheme, 443)


def _nanoseconds(unix_seconds: float) -> int:
    return int(unix_seconds * NANOSECONDS)
