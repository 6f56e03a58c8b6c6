"""Provider accounts in words: how one is doing, and what is wrong with how one was described."""

import re
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from tollkeeper.app import VENDORS
from tollkeeper.cli.listing import fields_of, quota_fields
from tollkeeper.core.money.amounts import Quota, mills_used, usd_text
from tollkeeper.core.pool.choice import PoolPlace
from tollkeeper.core.provider_address import host_refusal, is_canonical
from tollkeeper.ports import ProviderStanding, ProviderState
from tollkeeper.providers.vendors.fields import CAN_BE_REJECTED
from tollkeeper.providers.vendors.passes import COMPATIBLE, can_be_passed

_API_VERSION = re.compile(r"[0-9A-Za-z._-]{1,40}")


class BadDescription(ValueError):
    """A provider account cannot be described like that; the message says why."""


def health(standing: ProviderStanding, *, private_allowed: bool) -> str:
    """What an operator must know first comes first."""
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


def standing_record(standing: ProviderStanding, *, private_allowed: bool) -> dict[str, Any]:
    """A provider account in JSON."""
    limits = ("tier", "weight", "requests_per_minute", "tokens_per_minute", "concurrency")
    lists = {"rejects": sorted(standing.rejects), "passes": sorted(standing.passes)}
    counted = ("attempts", "failed", "first_byte_ms", "delivered")
    amounts = quota_fields(charged=standing.charged, cost=standing.cost, margin=standing.charged - standing.cost)
    named = fields_of(standing, "name", "vendor", "base_url", "models", "state", "suspended_at", "suspended_because")
    told = {"health": health(standing, private_allowed=private_allowed)}
    return named | fields_of(standing.place, *limits) | lists | fields_of(standing, *counted) | amounts | told


def limits_in_words(place: PoolPlace) -> str:
    given = {
        "requests/min": place.requests_per_minute,
        "tokens/min": place.tokens_per_minute,
        "at once": place.concurrency,
    }
    return ", ".join(f"{limit} {what}" for what, limit in given.items() if limit is not None) or "none"


def usd(amount: int) -> str:
    """With three decimals, and a minus where a margin is a loss."""
    mills = mills_used(Quota(abs(amount)))
    return f"{'-' if amount < 0 and mills else ''}{usd_text(mills)}"


def model_names(given: Iterable[str]) -> dict[str, str]:
    """`gpt-4o=my-deployment`: our id, and the provider's name for it; an id alone has the same name there."""
    names: dict[str, str] = {}
    for text in given:
        ours, equals, theirs = text.partition("=")
        if not ours or (equals and not theirs):
            raise BadDescription(f"'{text}' names no model: write OUR=THEIRS, or the id alone where it is the same.")
        if ours in names:
            raise BadDescription(f"The model '{ours}' was given twice.")
        names[ours] = theirs or ours
    return names


def check_vendor(vendor: str) -> None:
    if vendor not in VENDORS:
        raise BadDescription(
            f"'{vendor}' is not a vendor: write one of {', '.join(VENDORS)}; openai is for anything compatible too."
        )


def check_rejects(names: Iterable[str]) -> None:
    for name in names:
        if name not in CAN_BE_REJECTED:
            known = ", ".join(sorted(CAN_BE_REJECTED))
            raise BadDescription(f"'{name}' is not a parameter that an account can be said to reject: {known}.")


def check_passes(names: Iterable[str], vendor: str) -> None:
    for name in names:
        if vendor not in COMPATIBLE:
            raise BadDescription(
                f"'{name}' cannot pass to {vendor}: orders are translated for it, and this one has no translation."
            )
        if not can_be_passed(name):
            raise BadDescription(
                f"'{name}' is not a parameter that an account can be said to pass: it is listed already, says where "
                "an order goes, or is not written in small letters."
            )


def models(standing: ProviderStanding) -> str:
    """How many it serves, and what it is sent where that is not the usual."""
    count = "all" if standing.models is None else str(standing.models)
    given = {"rejects": standing.rejects, "passes": standing.passes}
    return "; ".join([count, *(f"{word} {', '.join(sorted(names))}" for word, names in given.items() if names)])


def check_api_version(version: str | None) -> None:
    if version is not None and not _API_VERSION.fullmatch(version):
        raise BadDescription(f"'{version}' is not a version of an interface, such as 2024-10-21.")


def check_address(base_url: str, *, insecure_http: bool, private_allowed: bool) -> None:
    try:
        address = urlsplit(base_url)
        host = address.hostname
        _ = address.port
    except ValueError:
        raise BadDescription(f"The base_url '{base_url}' is not an address.") from None
    if address.scheme not in {"http", "https"} or not host:
        raise BadDescription("The base_url must be like https://host/v1.")
    # The separators alone would do harm too: whatever is added to the address would no longer be its path.
    if "?" in base_url or "#" in base_url:
        raise BadDescription("The base_url must have no query (?) and no fragment (#).")
    if "@" in address.netloc:
        raise BadDescription("The base_url must have no user or password; the key is asked for.")
    if address.scheme == "http" and not insecure_http and not _is_loopback(host):
        raise BadDescription(
            f"Over plain http anybody on the way to {host} could read the key and every call. Use https, or say "
            "--insecure-http if you are sure of the network."
        )
    refused = address_refused(base_url, private_allowed=private_allowed)
    if refused is not None:
        raise BadDescription(f"No provider can be called there: {refused}.")
    if not is_canonical(host):
        raise BadDescription(f"Write the address {host} as four decimal numbers.")


def address_refused(base_url: str, *, private_allowed: bool) -> str | None:
    """Why a provider account with this address gets no calls; None where it may."""
    address = urlsplit(base_url)
    return host_refusal(address.scheme, address.hostname or "", private_allowed=private_allowed)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _calls(count: int) -> str:
    return "1 call" if count == 1 else f"{count} calls"
