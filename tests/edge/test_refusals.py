"""Refusals as HTTP: status, headers and body, in each style; and inside a stream that has begun."""

import json
from uuid import uuid4

import pytest

from tollkeeper.core.calls.sse import DONE
from tollkeeper.core.errors import (
    AccountShort,
    BodyTooLarge,
    CallRepeated,
    EdgeTimeout,
    GatewayError,
    IpBanned,
    KeyMissing,
    KeysDiffer,
    KeyUnknown,
    MalformedHeader,
    MethodNotAllowed,
    ModelNotFound,
    ProviderRejected,
    ProviderUnavailable,
    RateLimited,
    StreamBroken,
)
from tollkeeper.edge.http.exchange import Exchange
from tollkeeper.edge.refusals import ANTHROPIC, CURRENT, DEPRECATED, as_last_events, as_reply
from tools.asked import Asked

RETRY = (b"retry-after", b"x-should-retry", b"cf-error")


def an_exchange() -> Exchange:
    return Exchange(Asked(), 0, uuid4())


def unavailable(seconds: int) -> GatewayError:
    refusal = ProviderUnavailable()
    refusal.retry_after_seconds = seconds
    return refusal


@pytest.mark.parametrize(
    ("refusal", "status", "header"),
    [
        (KeyUnknown(), 401, (b"www-authenticate", b"Bearer")),
        (unavailable(7), 503, (b"retry-after", b"7")),
        (EdgeTimeout(), 524, (b"cf-error", b"524")),
        (MalformedHeader("twice"), 400, (b"connection", b"close")),
        (MethodNotAllowed(("GET", "HEAD")), 405, (b"allow", b"GET, HEAD")),
        (ModelNotFound("m"), 404, (b"content-type", b"application/json")),
        (ModelNotFound("m"), 404, (b"access-control-allow-origin", b"*")),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, GatewayError) else None,
)
def test_a_refusal_has_its_status_and_headers(refusal: GatewayError, status: int, header: tuple[bytes, bytes]) -> None:
    reply = as_reply(refusal, an_exchange(), CURRENT)
    assert reply.status == status
    assert header in reply.headers
    assert json.loads(reply.body)["error"]["message"] == refusal.message


def test_a_refusal_has_no_headers_of_others() -> None:
    names = [name for name, _ in as_reply(ModelNotFound("m"), an_exchange(), CURRENT).headers]
    assert not {b"retry-after", b"www-authenticate", b"cf-error", b"connection", b"allow"} & set(names)


def test_older_clients_find_a_key_that_is_not_accepted_in_the_body() -> None:
    refusal = KeyUnknown()
    reply = as_reply(refusal, an_exchange(), DEPRECATED)
    assert (reply.status, json.loads(reply.body)) == (200, {"Status": 0, "Error": refusal.message})
    assert as_reply(ProviderUnavailable(), an_exchange(), DEPRECATED).status == 503


def test_the_log_has_our_own_code_and_not_what_a_provider_called_it() -> None:
    exchange = an_exchange()
    reply = as_reply(ProviderRejected("no", param=None, code="a word of the caller's"), exchange, CURRENT)
    assert exchange.code == ProviderRejected.code
    assert json.loads(reply.body)["error"]["code"] == "a word of the caller's"


@pytest.mark.parametrize(
    ("refusal", "kind"),
    [
        (MalformedHeader("twice"), "invalid_request_error"),
        (KeyUnknown(), "authentication_error"),
        (KeysDiffer(), "authentication_error"),
        (AccountShort(), "billing_error"),
        (IpBanned(), "permission_error"),
        (ModelNotFound("m"), "not_found_error"),
        (MethodNotAllowed(("POST",)), "invalid_request_error"),
        (BodyTooLarge(9), "request_too_large"),
        (RateLimited(retry_after_seconds=3), "rate_limit_error"),
        (StreamBroken(), "api_error"),
        (ProviderUnavailable(), "overloaded_error"),
        (EdgeTimeout(), "timeout_error"),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, GatewayError) else None,
)
def test_callers_of_messages_are_refused_in_their_own_form(refusal: GatewayError, kind: str) -> None:
    exchange = an_exchange()
    reply = as_reply(refusal, exchange, ANTHROPIC)
    told = {"type": "error", "error": {"type": kind, "message": refusal.message}, "request_id": exchange.id_text}
    assert (reply.status, json.loads(reply.body)) == (refusal.status, told)
    # What says when to come again, or not to, is as for everybody.
    assert [header for header in reply.headers if header[0] in RETRY] == [
        header for header in as_reply(refusal, exchange, CURRENT).headers if header[0] in RETRY
    ]
    name, data = as_last_events(refusal, exchange, ANTHROPIC).strip().split(b"\n")
    assert (name, json.loads(data.removeprefix(b"data: "))) == (b"event: error", told)


def test_callers_of_messages_are_told_the_receipt_of_the_call_that_was_made_before() -> None:
    receipt = {"request_id": "of the first", "state": "settled", "charged_usd": "0.01", "url": "/v2/calls/1"}
    reply = as_reply(CallRepeated(receipt), an_exchange(), ANTHROPIC)
    assert (reply.status, json.loads(reply.body)["error"]["receipt"]) == (409, receipt)
    assert (b"x-original-request-id", b"of the first") in reply.headers
    # Of another key's call nothing is told.
    assert "receipt" not in json.loads(as_reply(CallRepeated(), an_exchange(), ANTHROPIC).body)["error"]


def test_in_a_stream_a_refusal_is_the_last_event() -> None:
    told = as_last_events(StreamBroken(), an_exchange())
    assert told.startswith(b"data: {")
    assert told.endswith(b"\n\n" + DONE)
    assert json.loads(told.removesuffix(DONE).removeprefix(b"data: "))["error"]["code"] == StreamBroken.code


def test_who_gives_no_key_is_told_of_the_header_that_the_protocol_has() -> None:
    told = json.loads(as_reply(KeyMissing(), an_exchange(), ANTHROPIC).body)["error"]["message"]
    assert "Authorization: Bearer" in told
    assert told.endswith("Or send the key alone in the header 'x-api-key'.")
    assert b"x-api-key" not in as_reply(KeyMissing(), an_exchange(), CURRENT).body
