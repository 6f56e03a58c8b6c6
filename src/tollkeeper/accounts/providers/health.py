"""How a provider account is doing, in words: what an operator must know first comes first."""

from enum import StrEnum

from tollkeeper.accounts.providers.description import address_refused
from tollkeeper.accounts.providers.live import LiveAccount, LiveBreaker
from tollkeeper.core.pool.breaker import BreakerState
from tollkeeper.ports import ProviderStanding, ProviderState


class HealthTag(StrEnum):
    """How an account is doing, in one word."""

    WELL = "well"
    IDLE = "idle"
    # Some of its models are out.
    PARTLY = "partly out"
    # It was out, or a model of it: a call tries whether it is back.
    HALF_OPEN = "half open"
    FAILING = "failing"
    OUT = "out"
    SUSPENDED = "suspended"
    PAUSED = "paused"
    DRAINING = "draining"
    NOT_CALLED = "not called"


def health_tag(standing: ProviderStanding, live: LiveAccount, *, private_allowed: bool) -> HealthTag:
    """The first that fits; what a person must do something about comes first."""
    is_refused = address_refused(standing.base_url, private_allowed=private_allowed) is not None
    is_failing = standing.attempts > 0 and standing.failed * 2 >= standing.attempts
    ladder = (
        (is_refused, HealthTag.NOT_CALLED),
        (standing.state is ProviderState.PAUSED, HealthTag.PAUSED),
        (standing.state is ProviderState.DRAINING, HealthTag.DRAINING),
        (standing.suspended_at is not None, HealthTag.SUSPENDED),
        (live.is_out, HealthTag.OUT),
        (is_failing, HealthTag.FAILING),
        (any(each.state is BreakerState.OPEN for each in live.breakers), HealthTag.PARTLY),
        (bool(live.breakers), HealthTag.HALF_OPEN),
        (standing.attempts > 0, HealthTag.WELL),
    )
    return next((tag for fits, tag in ladder if fits), HealthTag.IDLE)


def breaker_words(breaker: LiveBreaker) -> str:
    """`gpt-4o is out until 14:01:05 UTC: it failed again and again`."""
    what = breaker.model or "the account"
    if breaker.state is BreakerState.OPEN and breaker.until is not None:
        return f"{what} is out until {breaker.until:%H:%M:%S} UTC: {breaker.because}"
    return f"{what} is half open, a call tries whether it is back: {breaker.because}"


def health(standing: ProviderStanding, *, private_allowed: bool) -> str:
    refused = address_refused(standing.base_url, private_allowed=private_allowed)
    if refused is not None:
        return f"not called: {refused}"
    if standing.suspended_at is not None:
        since = f"{standing.suspended_at:%Y-%m-%d %H:%M:%S} UTC"
        told = (
            f"suspended since {since}: {standing.suspended_because}; it is tested every minute, or now with "
            f"`tollkeeper provider test {standing.name}`"
        )
        return told if standing.state is ProviderState.ACTIVE else f"{standing.state}, and {told}"
    if standing.state is not ProviderState.ACTIVE:
        return standing.state.value
    if not standing.attempts:
        return "idle: no calls in 10 min"
    if standing.failed * 2 >= standing.attempts:
        return f"failing: {standing.failed} of {_calls(standing.attempts)} in 10 min failed"
    failed = f", {standing.failed} failed" if standing.failed else ""
    latency = "" if standing.first_byte_ms is None else f", first byte {standing.first_byte_ms / 1_000:.1f} s"
    return f"well: {_calls(standing.attempts)} in 10 min{failed}{latency}"


def takes_calls(standing: ProviderStanding, *, private_allowed: bool) -> bool:
    """Whether it is given calls, however it does with them."""
    is_refused = address_refused(standing.base_url, private_allowed=private_allowed) is not None
    return standing.state is ProviderState.ACTIVE and standing.suspended_at is None and not is_refused


def _calls(count: int) -> str:
    return "1 call" if count == 1 else f"{count} calls"
