"""Refusals as HTTP: a response of their own, or the last event of a stream that has begun.

The only file of the gateway that turns them into HTTP. A refusal is raised where it is noticed, as a noun of
`core/errors`. It may name what was asked for, but no key, wherever that stood in the request. (The console's pages
say theirs in words and statuses of their own.)
"""

from collections.abc import Callable, Iterator

import msgspec

from tollkeeper.core.calls.sse import DONE, KEEP_ALIVE, event
from tollkeeper.core.dialects.messages.answer_writer import PING
from tollkeeper.core.errors import (
    BadRequest,
    GatewayError,
    MadeBefore,
    MalformedHeader,
    MethodNotAllowed,
    Unauthorized,
)
from tollkeeper.core.keys import without_keys
from tollkeeper.edge import shapes
from tollkeeper.edge.http.exchange import ANY_ORIGIN, HTML, JSON, Exchange, Reply
from tollkeeper.server.application import Header


class Style(msgspec.Struct, frozen=True):
    """How a family of endpoints words its refusals, and the headers on all its answers."""

    # Of the refusal and the id of the request.
    error: Callable[[GatewayError, str], bytes]
    status: Callable[[GatewayError], int]
    headers: tuple[Header, ...]
    # Whether a key is looked for in the body, and not in the header.
    key_in_body: bool = False
    # A header beside Authorization in which a key may stand, and the names under which the id of a request is told.
    key_header: bytes | None = None
    id_names: tuple[bytes, ...] = (b"x-request-id",)
    # Inside a stream: the refusal as its last events, and what says nothing.
    last_events: Callable[[bytes], bytes] = lambda told: event(told) + DONE
    keep_alive: bytes = KEEP_ALIVE


def _error(refusal: GatewayError, request_id: str) -> bytes:
    return shapes.error(refusal)


CURRENT = Style(_error, lambda refusal: refusal.status, ANY_ORIGIN)
ANTHROPIC = Style(
    shapes.messages_error,
    lambda refusal: refusal.status,
    ANY_ORIGIN,
    key_header=b"x-api-key",
    id_names=(b"x-request-id", b"request-id"),
    last_events=lambda told: b"event: error\n" + event(told),
    keep_alive=PING,
)
# The list of models: a key may stand as in Messages, and whoever names its version is answered in its form.
LISTED = msgspec.structs.replace(CURRENT, key_header=b"x-api-key")
# What is not there: a program of either protocol may have mistaken the address.
UNKNOWN = LISTED
# The older clients look at Status in the body, so a key that is not accepted is still HTTP 200.
DEPRECATED = Style(
    lambda refusal, _: shapes.deprecated_error(refusal),
    lambda refusal: 200 if isinstance(refusal, Unauthorized) else refusal.status,
    (
        # Since when, as RFC 9745 writes it: 1 January 2026.
        (b"deprecation", b"@1767225600"),
        (
            b"link",
            b'</v2/token/balance>; rel="successor-version", </v2/account/balance>; rel="successor-version"',
        ),
    ),
    key_in_body=True,
)
PAGE_SOURCES = (
    b"default-src 'none'",
    b"style-src 'self'",
    b"img-src 'self'",
    b"form-action 'self'",
    b"base-uri 'none'",
    b"frame-ancestors 'none'",
)
SAFE_PAGE: tuple[Header, ...] = (
    (b"content-security-policy", b"; ".join(PAGE_SOURCES)),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
# What is public has no form: who sends it something else is a program that has a wrong address.
PUBLIC_PAGE = Style(_error, lambda refusal: refusal.status, SAFE_PAGE)
# A form: what is wrong with its field is told beside it.
FORM_PAGE = Style(
    _error,
    lambda refusal: 422 if isinstance(refusal, BadRequest | Unauthorized) else refusal.status,
    SAFE_PAGE,
    key_in_body=True,
)


def speaks_messages(exchange: Exchange) -> bool:
    return bool(exchange.header_lines(b"anthropic-version"))


def style_of(style: Style, exchange: Exchange) -> Style:
    """The style of a route for this exchange."""
    return ANTHROPIC if style is LISTED and speaks_messages(exchange) else style


def as_reply(refusal: GatewayError, exchange: Exchange, style: Style, page: bytes | None = None) -> Reply:
    """`page` is the refusal as people read it, where they asked for a page."""
    note_code(refusal, exchange)
    form, told = (JSON, style.error(refusal, exchange.id_text)) if page is None else (HTML, page)
    return Reply(without_keys(told), style.status(refusal), (*form, *style.headers, *_headers(refusal)))


def as_last_events(refusal: GatewayError, exchange: Exchange, style: Style = CURRENT) -> bytes:
    """In a stream whose status is sent already."""
    return style.last_events(without_keys(style.error(refusal, exchange.id_text)))


def note_code(refusal: GatewayError, exchange: Exchange) -> None:
    """For the log: our own code. An instance may have the provider's, which can be a word of the caller's."""
    exchange.code = type(refusal).code


def _headers(refusal: GatewayError) -> Iterator[Header]:
    if refusal.retry_after_seconds is not None:
        yield b"retry-after", str(refusal.retry_after_seconds).encode()
    if refusal.should_retry is not None:
        yield b"x-should-retry", str(refusal.should_retry).lower().encode()
    if refusal.status == 401:
        yield b"www-authenticate", b"Bearer"
    if refusal.status == 524:
        yield b"cf-error", b"524"
    if isinstance(refusal, MalformedHeader):
        # Where the next request begins is not certain any more.
        yield b"connection", b"close"
    if isinstance(refusal, MadeBefore) and refusal.receipt is not None:
        yield b"x-original-request-id", str(refusal.receipt["request_id"]).encode()
    if isinstance(refusal, MethodNotAllowed):
        yield b"allow", ", ".join(refusal.allowed).encode()
