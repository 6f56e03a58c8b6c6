"""Webhooks: which events are told, how they are signed (Standard Webhooks), and when a failed delivery is tried again.

Rules of this file
1. A body is the same bytes at every attempt: its id stays, and receivers can tell a repetition.
2. After a rotation both secrets sign, for a day: receivers change theirs when they are ready.
3. An address is judged by what it means (`core/provider_address`), when it is entered and whenever it is called.
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final
from urllib.parse import SplitResult, urlsplit

import msgspec

from tollkeeper.core.provider_address import Reach, is_canonical, reach_of_host

SECRET_PREFIX: Final = "whsec_"  # noqa: S105 (how every secret begins)
SECRET_BYTES: Final = 32
FORMER_SECRET_LASTS: Final = timedelta(days=1)
# A receiver that takes nothing for so long is no longer sent anything.
PATIENCE: Final = timedelta(days=5)
URL_CHARACTERS_MOST: Final = 2_000
# Of an address as it is shown: what tells it from others at the same host.
MARK_LETTERS: Final = 8
# Each has connections of its own to the receiver, so none waits for another: there are few.
WEBHOOKS_MOST: Final = 20
ALLOW: Final = "TOLLKEEPER_PRIVATE_WEBHOOKS=true allows that"

# How long after each failed attempt the next one is made: about three days in all.
WAITS: Final[tuple[timedelta, ...]] = (
    timedelta(seconds=5),
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=5),
    timedelta(hours=10),
    timedelta(hours=14),
    timedelta(hours=18),
    timedelta(hours=24),
)
# A part of each wait, added or taken away, so that receivers that come back are not met by everything at once.
JITTER: Final = 0.1
GONE: Final = 410


class WebhookKind(StrEnum):
    BALANCE_LOW = "account.balance_low"
    BUDGET_NEAR = "key.budget_near"
    RESTRICTED = "account.restricted"
    DISABLED = "account.disabled"
    BANNED = "client.banned"
    PROVIDER_OUT = "provider.out"
    BOOKS_NOT_CLEAN = "books.not_clean"
    PRICE_ANNOUNCED = "price.announced"


# What pages and documents say of each.
EVENT_WORDS: Final[Mapping[WebhookKind, str]] = {
    WebhookKind.BALANCE_LOW: "An account's quota fell below its threshold",
    WebhookKind.BUDGET_NEAR: "A key used 80 % of its budget of a day or month",
    WebhookKind.RESTRICTED: "An account was restricted",
    WebhookKind.DISABLED: "An account was disabled",
    WebhookKind.BANNED: "A client's IP was banned",
    WebhookKind.PROVIDER_OUT: "A provider account is out: its key was refused, or its breaker is open",
    WebhookKind.BOOKS_NOT_CLEAN: "The books are not clean any more",
    WebhookKind.PRICE_ANNOUNCED: "A price change was announced",
}


class BadWebhook(ValueError):
    """A webhook cannot be like that; the message says why."""


class WebhookBody(msgspec.Struct, frozen=True):
    type: str
    timestamp: datetime
    data: Mapping[str, object]


def secret_of(key: bytes) -> str:
    return SECRET_PREFIX + base64.b64encode(key).decode()


def signature(secret: str, event_id: str, timestamp: int, body: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    signed = f"{event_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def headers_of(secrets: Sequence[str], event_id: str, at: datetime, body: bytes) -> dict[str, str]:
    timestamp = int(at.timestamp())
    return {
        "content-type": "application/json",
        "webhook-id": event_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(signature(secret, event_id, timestamp, body) for secret in secrets),
    }


def body_of(kind: str, at: datetime, data: Mapping[str, object]) -> bytes:
    return msgspec.json.encode(WebhookBody(kind, at.astimezone(UTC), data))


def wait_after(attempt: int, chance: float) -> timedelta | None:
    """How long to wait after the so-manieth attempt failed; None: it was the last. `chance`: from 0 to 1."""
    if attempt > len(WAITS):
        return None
    return WAITS[attempt - 1] * (1 + JITTER * (2 * chance - 1))


def address_problem(url: str, *, private_allowed: bool) -> str | None:
    """Why nothing is sent to this address, in words; None where it may be."""
    try:
        address = urlsplit(url)
        host, _ = address.hostname or "", address.port
        # As whoever connects will have it: a name with an empty or an endless part is none.
        host.encode("idna")
    except ValueError:
        return "it is not an address"
    return _badly_written(url, address, host) or _out_of_reach(address.scheme, host, private_allowed=private_allowed)


def _badly_written(url: str, address: SplitResult, host: str) -> str | None:
    if address.scheme not in {"http", "https"} or not host:
        return "it must be like https://host/path"
    if "@" in address.netloc or "#" in url:
        return "it must have no user, no password and no fragment (#)"
    if not url.isascii() or not url.isprintable() or " " in url:
        return "it must be printable ASCII characters without a space"
    return None if is_canonical(host) else f"write the address {host} as four decimal numbers"


def _out_of_reach(scheme: str, host: str, *, private_allowed: bool) -> str | None:
    reach = reach_of_host(host)
    if reach is Reach.NEVER:
        return f"{host} is an address of the network itself (metadata, broadcast, unspecified)"
    if private_allowed:
        return None
    if scheme == "http":
        return f"over plain http anybody on the way could read every event; {ALLOW}"
    return f"{host} is a private address; {ALLOW}" if reach is Reach.PRIVATE else None


def checked_url(url: str, *, private_allowed: bool) -> str:
    """Raise BadWebhook."""
    problem = address_problem(url, private_allowed=private_allowed)
    if problem is None and len(url) > URL_CHARACTERS_MOST:
        problem = f"it may have {URL_CHARACTERS_MOST} characters at most"
    if problem is not None:
        raise BadWebhook(f"Nothing can be sent to that address: {problem}. Nothing was done.")
    return url


def shown_url(url: str) -> str:
    """As lists and records show it: path and query of many receivers are their secret. The mark tells two of them
    apart."""
    address = urlsplit(url)
    rest = f"{address.path}?{address.query}"
    mark = hashlib.sha256(rest.encode()).hexdigest()[:MARK_LETTERS]
    return f"{address.scheme}://{address.netloc}/" + ("" if rest in ("?", "/?") else f"…{mark}")
