"""A call that is over: what is known of it, for whoever tells of calls afterwards. Nothing of what was said in it."""

from collections.abc import Sequence
from uuid import UUID

import msgspec

from tollkeeper.core.addresses import Address
from tollkeeper.core.traceparent import TraceParent
from tollkeeper.metrics.calls import SettledCall
from tollkeeper.relay.dispatch.attempt import Attempt


class EndedCall(msgspec.Struct, frozen=True, kw_only=True):
    request_id: UUID
    # The path of its route.
    endpoint: str
    address: Address | None
    # By `time.perf_counter`, and until its caller was answered.
    begun: float
    seconds: float
    status: int
    # Of the refusal, if it was one: our own word, never a provider's.
    code: str | None
    # Of the catalog, if it was found there.
    model: str | None
    # Of an answer that went out in pieces.
    first_byte_seconds: float | None
    # What it came to, if quota was held for it; and where it was sent.
    settled: SettledCall | None
    attempts: Sequence[Attempt]
    trace_parent: TraceParent | None
