"""Asking a provider whether it accepts a key."""

import pytest

from tollkeeper.providers.probe import verdict


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
