"""What is wrong with how a provider account was described, told in a sentence."""

import re
from collections.abc import Callable, Collection, Iterable
from decimal import Decimal
from ipaddress import ip_address
from urllib.parse import urlsplit

import msgspec

from tollkeeper.core.money.amounts import plain_decimal
from tollkeeper.core.one_line import one_line
from tollkeeper.core.provider_address import host_refusal, is_canonical

_API_VERSION = re.compile(r"[0-9A-Za-z._-]{1,40}")
_KEY = re.compile(r"[!-~](?:[ -~]*[!-~])?")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
PORTS = {"http": 80, "https": 443}


class BadDescription(ValueError):
    """A provider account cannot be described like that; the message says why."""


class ProviderTerms(msgspec.Struct, frozen=True, kw_only=True):
    """What this deployment can call."""

    vendors: tuple[str, ...]
    # Parameters that an account can be said to reject, and those that one can be said to pass.
    can_be_rejected: Collection[str]
    can_be_passed: Callable[[str], bool]
    # Vendors that are sent orders in the protocol itself.
    compatible: Collection[str]
    # Whether providers in private networks, and over plain http, are called.
    private_allowed: bool


# What stands at /staff/providers/NAME and is no account.
NAMES_OF_PAGES = frozenset({"add"})


def check_name(name: str) -> None:
    one_line(name, "A provider account's name")
    if not _NAME.fullmatch(name):
        raise BadDescription(
            "A provider account's name has 1 to 64 small letters, digits and . _ -, and begins with a letter or digit."
        )
    if name in NAMES_OF_PAGES:
        raise BadDescription(f"'{name}' is the address of another page in the console. Choose another name.")


def check_vendor(vendor: str, terms: ProviderTerms) -> None:
    if vendor not in terms.vendors:
        raise BadDescription(
            f"'{vendor}' is not a vendor: write one of {', '.join(terms.vendors)}; openai is for anything compatible "
            "too."
        )


def check_rejects(names: Iterable[str], terms: ProviderTerms) -> None:
    for name in names:
        if name not in terms.can_be_rejected:
            known = ", ".join(sorted(terms.can_be_rejected))
            raise BadDescription(f"'{name}' is not a parameter that an account can be said to reject: {known}.")


def check_passes(names: Iterable[str], vendor: str, terms: ProviderTerms) -> None:
    for name in names:
        if vendor not in terms.compatible:
            raise BadDescription(
                f"'{name}' cannot pass to {vendor}: orders are translated for it, and this one has no translation."
            )
        if not terms.can_be_passed(name):
            raise BadDescription(
                f"'{name}' is not a parameter that an account can be said to pass: it is listed already, says where "
                "an order goes, or is not written in small letters."
            )


def check_api_version(version: str | None) -> None:
    if version is not None and not _API_VERSION.fullmatch(version):
        raise BadDescription(f"'{version}' is not a version of an interface, such as 2024-10-21.")


def check_key(key: str) -> None:
    """Never quotes it."""
    if not _KEY.fullmatch(key):
        raise BadDescription("A provider key has printable ASCII characters only, and no space at its ends.")


def cost_typed(text: str) -> Decimal:
    """What an account costs us, as a part of the list price."""
    cost = plain_decimal(text)
    if cost is None or not 0 <= cost < 10**8 or cost != round(cost, 6):
        raise BadDescription(f"'{text}' is not a multiplier: a number of 0 or more with at most six decimals.")
    return cost


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


def host_of(base_url: str) -> str:
    return urlsplit(base_url).hostname or ""


def is_same_place(one: str, other: str) -> bool:
    """Whether whoever has a key for one of the addresses may be shown it at the other."""
    first, second = urlsplit(one), urlsplit(other)
    return (first.scheme, first.hostname, first.port or PORTS.get(first.scheme)) == (
        second.scheme,
        second.hostname,
        second.port or PORTS.get(second.scheme),
    )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
