"""Webhooks: signatures as Standard Webhooks has them, waits between attempts, addresses."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks.webhooks import Webhook

from tollkeeper.core.webhooks import (
    EVENT_WORDS,
    WebhookKind,
    address_problem,
    body_of,
    headers_of,
    secret_of,
    shown_url,
    signature,
    wait_after,
)

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def test_the_published_example_has_the_published_signature() -> None:
    body = b'{"test": 2432232314}'
    found = signature(SECRET, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body)
    assert found == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_receivers_verify_with_either_secret_after_a_rotation() -> None:
    body = body_of("webhook.test", datetime(2026, 7, 1, tzinfo=UTC), {"webhook": 1})
    other = secret_of(bytes(range(32)))
    headers = headers_of([SECRET, other], "evt_1", datetime.now(UTC), body)
    for secret in (SECRET, other):
        assert Webhook(secret).verify(body, headers) == {
            "type": "webhook.test",
            "timestamp": "2026-07-01T00:00:00Z",
            "data": {"webhook": 1},
        }


def test_attempts_are_made_for_about_three_days_with_jitter_and_then_no_more() -> None:
    waits = [wait for attempt in range(1, 20) if (wait := wait_after(attempt, 0.5)) is not None]
    assert timedelta(days=3) <= sum(waits, timedelta()) <= timedelta(days=3.5)
    assert waits == sorted(waits)
    assert wait_after(len(waits) + 1, 0.5) is None
    assert wait_after(2, 0.0) == timedelta(seconds=54)
    assert wait_after(2, 1.0) == timedelta(seconds=66)


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example.com/",
        "https://127.0.0.1/",
        "https://localhost/x",
        "https://10.0.0.1/x",
        "https://[::ffff:10.0.0.1]/",
        "https://0x7f.1/",
        "https://intranet/",
        "https://169.254.169.254/latest",
        "https://user:word@hooks.example.com/",
        "https://hooks.example.com/#x",
        "https://hooks.example.com/a b",
        "ftp://hooks.example.com/",
        "https://",
        "https://[::1",
    ],
)
def test_nothing_is_sent_to_addresses_within(url: str) -> None:
    assert address_problem(url, private_allowed=False)


def test_a_setting_allows_private_addresses_and_never_the_metadata_service() -> None:
    assert address_problem("https://hooks.example.com/x?token=1", private_allowed=False) is None
    assert address_problem("http://127.0.0.1:8080/x", private_allowed=True) is None
    assert address_problem("http://169.254.169.254/", private_allowed=True)
    assert address_problem("http://0.0.0.0/", private_allowed=True)


def test_path_and_query_may_be_secrets_and_are_not_shown() -> None:
    shown = shown_url("https://hooks.example.com/services/T0/secret?token=secret")
    assert re.fullmatch(r"https://hooks\.example\.com/…[0-9a-f]{8}", shown)
    assert shown != shown_url("https://hooks.example.com/services/T0/another")
    assert (
        shown_url("https://hooks.example.com/")
        == shown_url("https://hooks.example.com")
        == "https://hooks.example.com/"
    )


def test_every_kind_of_event_has_words() -> None:
    assert set(EVENT_WORDS) == set(WebhookKind)
