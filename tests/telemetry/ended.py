"""Calls that are over, for tests."""

import os
from collections.abc import Sequence
from uuid import UUID

from tollkeeper.core.addresses import Address
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.charge import Charge, Ending, UsageSource
from tollkeeper.core.money.prices import Usage
from tollkeeper.core.request_id import uuid7
from tollkeeper.core.traceparent import TraceParent
from tollkeeper.metrics.calls import SettledCall
from tollkeeper.ports import ProviderAccount
from tollkeeper.relay.dispatch.attempt import Attempt
from tollkeeper.relay.ended import EndedCall
from tollkeeper.settings import Secret

CHAT = "/v1/chat/completions"
ACCOUNT = ProviderAccount(
    id=1, name="one", vendor="anthropic", base_url="https://api.example/v1", secret=Secret("sk-never-told")
)


def an_attempt(
    *,
    outcome: str = "",
    status: int | None = 200,
    ms: int | None = None,
    begun: float = 100.0,
    provider: ProviderAccount | None = ACCOUNT,
) -> Attempt:
    return Attempt("one", outcome=outcome, status=status, ms=ms, begun=begun, sent=True, provider=provider)


def a_settled_call(
    *,
    kind: Kind = Kind.CHAT,
    ending: Ending = Ending.COMPLETED,
    usage: Usage | None = None,
    provider_seconds: float = 1.5,
) -> SettledCall:
    return SettledCall(
        model="m",
        kind=kind,
        ending=ending,
        charge=Charge(Quota(1), usage or Usage(10, 20, 3), UsageSource.PROVIDER),
        attempts=(),
        own_seconds=0.002,
        provider_seconds=provider_seconds,
    )


def an_ended_call(  # noqa: PLR0913 (a builder: everything has a default)
    *,
    endpoint: str = CHAT,
    status: int = 200,
    code: str | None = None,
    model: str | None = "m",
    first_byte_seconds: float | None = None,
    settled: SettledCall | None = None,
    attempts: Sequence[Attempt] = (),
    trace_parent: TraceParent | None = None,
    request_id: UUID | None = None,
    seconds: float = 2.0,
) -> EndedCall:
    return EndedCall(
        request_id=request_id or uuid7(1_700_000_000_000, os.urandom(10)),
        endpoint=endpoint,
        address=Address.MAIN,
        begun=50.0,
        seconds=seconds,
        status=status,
        code=code,
        model=model,
        first_byte_seconds=first_byte_seconds,
        settled=settled,
        attempts=attempts,
        trace_parent=trace_parent,
    )
