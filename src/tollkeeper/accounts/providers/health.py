"""How a provider account is doing, in words: what an operator must know first comes first."""

from tollkeeper.accounts.providers.description import address_refused
from tollkeeper.ports import ProviderStanding, ProviderState


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
