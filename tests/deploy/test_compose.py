"""The compose file says only what the Compose specification knows."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.deploy.compose_keys import problems
from tests.deploy.shipped import compose


def test_the_compose_file_has_known_keys_values_of_their_kind_and_names_of_what_is_there() -> None:
    assert problems(compose()) == []


def _gateway(file: dict[str, Any]) -> dict[str, Any]:
    service: dict[str, Any] = file["services"]["gateway"]
    return service


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (lambda file: _gateway(file).update(helthcheck={}), "there is no key 'helthcheck'"),
        (lambda file: _gateway(file)["healthcheck"].update(intervall="10s"), "there is no key 'intervall'"),
        (lambda file: _gateway(file).update(read_only="yes"), "read_only: 'yes' is no bool"),
        (lambda file: _gateway(file).update(stop_grace_period=665), "stop_grace_period: 665"),
        (lambda file: _gateway(file)["networks"].append("outside"), "gateway is in no network 'outside'"),
        (lambda file: file.update(volume={}), "there is no key 'volume'"),
        (lambda file: file["volumes"].pop("journal"), "gateway has no volume 'journal'"),
        (lambda file: _gateway(file).pop("image"), "'image' is missing"),
    ],
    ids=["service", "health check", "kind", "duration", "network", "top", "volume", "image"],
)
def test_what_is_misspelt_or_dangles_is_found(harm: Callable[[dict[str, Any]], object], told: str) -> None:
    file = copy.deepcopy(compose())
    harm(file)
    assert told in "\n".join(problems(file))
