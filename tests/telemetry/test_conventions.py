"""The names under which calls are told."""

import pytest

from tests.telemetry.ended import a_settled_call, an_attempt, an_ended_call
from tollkeeper.app.metrics import RELAYED
from tollkeeper.app.providers import VENDORS
from tollkeeper.core import errors
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.money.charge import Ending
from tollkeeper.core.money.prices import Usage
from tollkeeper.metrics.calls import CLIENT_LEFT
from tollkeeper.telemetry.conventions import (
    OPERATIONS,
    PROVIDERS,
    answering_provider,
    error_of_attempt,
    is_fault,
    timed_attempts,
    tokens_of,
)


def test_every_endpoint_that_is_relayed_is_an_operation() -> None:
    assert set(OPERATIONS) == set(RELAYED)


def test_every_vendor_is_a_provider() -> None:
    assert set(PROVIDERS) == set(VENDORS)


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        (None, False),
        (errors.RateLimited.code, False),
        (errors.InsufficientQuota.code, False),
        (CLIENT_LEFT, False),
        (errors.EdgeTimeout.code, True),
        (errors.StreamBroken.code, True),
        (errors.InternalFailure.code, True),
    ],
)
def test_what_the_caller_did_is_no_fault(code: str | None, fault: bool) -> None:
    assert is_fault(an_ended_call(code=code)) is fault


@pytest.mark.parametrize(
    ("outcome", "status", "ending", "error"),
    [
        ("", 200, Ending.COMPLETED, None),
        ("", 200, Ending.CLIENT_LEFT, None),
        ("", 200, Ending.UPSTREAM_BROKE, "upstream_broke"),
        ("", 200, Ending.TIME_LIMIT, "time_limit"),
        ("refused", 429, Ending.COMPLETED, "429"),
        ("refused", None, Ending.COMPLETED, "refused"),
        ("broken", None, Ending.COMPLETED, "broken"),
        ("broken", 200, Ending.COMPLETED, "broken"),
    ],
)
def test_an_attempt_fails_by_a_status_or_by_a_word_of_ours(
    outcome: str, status: int | None, ending: Ending, error: str | None
) -> None:
    assert error_of_attempt(an_attempt(outcome=outcome, status=status), ending) == error


def test_the_last_attempt_takes_what_the_others_left_of_the_providers_time() -> None:
    attempts = [an_attempt(outcome="broken", ms=400), an_attempt(outcome="silent", ms=100), an_attempt()]
    call = an_ended_call(settled=a_settled_call(provider_seconds=1.5), attempts=attempts)
    assert [round(seconds, 6) for _, seconds in timed_attempts(call)] == [0.4, 0.1, 1.0]


def test_only_tokens_that_were_charged_are_told() -> None:
    assert tokens_of(an_ended_call(settled=a_settled_call())) == Usage(10, 20, 3)
    assert tokens_of(an_ended_call(settled=a_settled_call(kind=Kind.SPEECH))) is None
    assert tokens_of(an_ended_call(settled=a_settled_call(usage=Usage(0)))) is None
    assert tokens_of(an_ended_call()) is None


def test_who_answers_is_the_vendor_that_was_asked_last_or_we_ourselves() -> None:
    assert answering_provider(an_ended_call(attempts=[an_attempt(provider=None), an_attempt()])) == "anthropic"
    assert answering_provider(an_ended_call()) == "tollkeeper"
