"""Asking a provider whether it accepts a key."""

import pytest

from tollkeeper.core.pool.health import Trouble
from tollkeeper.providers.probe import trouble_in, verdict

RESTRICTED = b'{"error": {"message": "You have insufficient permissions. Missing scopes: api.model.read."}}'


@pytest.mark.parametrize(
    ("status", "accepted", "told"),
    [
        (200, True, "its key is accepted"),
        (204, True, "its key is accepted"),
        (301, False, "does not say"),
        (401, False, "its key is refused"),
        (402, False, "its key is refused"),
        (403, False, "its key is refused"),
        (404, True, "the next call will tell"),
        (405, True, "the next call will tell"),
        (429, False, "does not say"),
        (503, False, "does not say"),
    ],
)
def test_what_the_list_of_models_says_of_the_key(status: int, accepted: bool, told: str) -> None:
    assert verdict(status, "https://api.example/v1/models")[0] is accepted
    assert told in verdict(status, "https://api.example/v1/models")[1]


@pytest.mark.parametrize(
    ("status", "body", "trouble"),
    [
        pytest.param(200, b"", None, id="200"),
        pytest.param(301, b"", None, id="301"),
        pytest.param(401, b"", Trouble.CREDENTIAL, id="401"),
        pytest.param(401, RESTRICTED, None, id="401 of a key that may do other things"),
        pytest.param(402, b"", Trouble.CREDENTIAL, id="402"),
        pytest.param(403, b"", None, id="403"),
        pytest.param(404, b"", None, id="404"),
        pytest.param(429, b"", Trouble.BUSY, id="429"),
        pytest.param(503, b"", Trouble.SERVER, id="503"),
    ],
)
def test_what_the_list_of_models_says_of_the_account(status: int, body: bytes, trouble: Trouble | None) -> None:
    assert trouble_in(status, body) is trouble


def test_a_key_that_is_not_for_lists_is_tried_by_the_next_call() -> None:
    assert verdict(401, "https://api.example/v1/models", RESTRICTED)[0]
