"""What a provider's status means, row by row."""

import pytest

from tollkeeper.core.pool.health import Trouble
from tollkeeper.core.pool.provider_status import (
    BUSY,
    CREDENTIAL,
    FAILED,
    PASSING,
    REFUSED,
    REJECTED,
    TOO_LARGE,
    Meaning,
    meaning_of,
)


@pytest.mark.parametrize(
    ("status", "meaning"),
    [
        (204, FAILED),
        (302, PASSING),
        (307, PASSING),
        (400, REJECTED),
        (401, CREDENTIAL),
        (402, CREDENTIAL),
        (403, REFUSED),
        (404, PASSING),
        (405, PASSING),
        (407, FAILED),
        (408, PASSING),
        (409, PASSING),
        (413, REJECTED),
        (414, REFUSED),
        (418, REFUSED),
        (421, PASSING),
        (422, REJECTED),
        (425, PASSING),
        (429, BUSY),
        (431, REFUSED),
        (451, REFUSED),
        (499, PASSING),
        (500, FAILED),
        (501, REFUSED),
        (502, FAILED),
        (503, FAILED),
        (504, FAILED),
        (520, FAILED),
        (524, FAILED),
        (529, FAILED),
        (530, FAILED),
        (999, FAILED),
    ],
)
def test_a_status_says_what_it_means(status: int, meaning: Meaning) -> None:
    assert meaning_of(status) is meaning


@pytest.mark.parametrize("status", [503, 529])
def test_who_says_when_to_come_again_is_busy(status: int) -> None:
    assert meaning_of(status, says_when=True) is BUSY


def test_a_500_that_says_when_to_come_again_has_failed() -> None:
    assert meaning_of(500, says_when=True) is FAILED


def test_no_other_status_that_a_request_can_bring_about_is_held_against_the_account() -> None:
    held = {status for status in range(300, 500) if meaning_of(status).trouble is not None}
    assert held == {401, 402, 407, 429}


# As vendors word it.
MINUTE = "on tokens per min (TPM): Limit 30000"


@pytest.mark.parametrize(
    ("status", "message", "meaning"),
    [
        pytest.param(
            429,
            f"Request too large for gpt-4o in organization org-x {MINUTE}, Requested 36278.",
            TOO_LARGE,
            id="openai",
        ),
        pytest.param(
            429, f"Rate limit reached for gpt-4o {MINUTE}, Used 29937, Requested 385.", BUSY, id="openai: used up"
        ),
        pytest.param(429, "You exceeded your current quota, please check your plan", BUSY, id="openai: no money"),
        pytest.param(429, "This request would exceed the rate limit for your organization", BUSY, id="anthropic"),
        pytest.param(429, "Resource has been exhausted (e.g. check quota).", BUSY, id="gemini"),
        pytest.param(
            402,
            "This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens",
            TOO_LARGE,
            id="openrouter: cannot afford it",
        ),
        pytest.param(402, "Insufficient credits.", CREDENTIAL, id="openrouter: no credits"),
        pytest.param(500, "Request too large", FAILED, id="words of another status"),
        pytest.param(429, "Try later. (You said: Request too large)", BUSY, id="words that are quoted"),
    ],
)
def test_a_limit_that_only_a_large_request_meets_is_about_the_request(
    status: int, message: str, meaning: Meaning
) -> None:
    body = f'{{"error": {{"message": "{message}", "type": "tokens"}}}}'.encode()
    assert meaning_of(status, body) is meaning


@pytest.mark.parametrize(
    ("body", "meaning"),
    [
        (b'{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}', CREDENTIAL),
        (b'{"error":{"message":"x","type": "insufficient_quota","param":null}}', CREDENTIAL),
        (b'{"error":{"message":"Rate limit reached","code":"rate_limit_exceeded"}}', BUSY),
        (b'{"error":{"message":"you said \\"code\\":\\"insufficient_quota\\""}}', BUSY),
    ],
)
def test_an_account_that_has_nothing_left_is_told_from_one_that_is_busy(body: bytes, meaning: Meaning) -> None:
    assert meaning_of(429, body) == meaning


def test_only_its_key_its_limits_and_its_failures_are_an_accounts_trouble() -> None:
    troubles = {meaning_of(status).trouble for status in range(100, 600)}
    assert troubles == {None, Trouble.CREDENTIAL, Trouble.BUSY, Trouble.SERVER}
