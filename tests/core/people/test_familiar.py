"""Which sign-ins are told of."""

from datetime import UTC, datetime, timedelta

import pytest

from tollkeeper.core.people.familiar import SignInPlace, is_news

NOW = datetime(2026, 11, 16, tzinfo=UTC)
HOME = SignInPlace("198.51.100.7", "Firefox")


@pytest.mark.parametrize(
    ("here", "news"),
    [
        (HOME, False),
        (SignInPlace("198.51.7.200", "Firefox"), False),
        (SignInPlace("198.52.100.7", "Firefox"), True),
        (SignInPlace("198.51.100.7", "Chrome"), True),
        (SignInPlace("2001:db8::1", "Firefox"), True),
        (SignInPlace("2001:db8:1::1", "Safari"), False),
        (SignInPlace("2001:db9::1", "Safari"), True),
        (SignInPlace("203.0.113.9", "Safari"), True),
        (SignInPlace("", "Firefox"), True),
        (SignInPlace("::ffff:198.51.100.9", "Firefox"), False),
    ],
    ids=lambda value: f"{value.ip} {value.agent}" if isinstance(value, SignInPlace) else "",
)
def test_a_browser_and_a_network_that_were_seen_together_are_familiar(here: SignInPlace, news: bool) -> None:
    before = (HOME, SignInPlace("2001:db8::1", "Safari"))
    assert is_news(here, before, opened_at=NOW - timedelta(days=100), now=NOW) is news


@pytest.mark.parametrize(("hours", "news"), [(1, False), (23, False), (25, True), (9_000, True)])
def test_the_first_sign_in_is_news_unless_the_login_was_just_opened(hours: int, news: bool) -> None:
    assert is_news(HOME, (), opened_at=NOW - timedelta(hours=hours), now=NOW) is news
