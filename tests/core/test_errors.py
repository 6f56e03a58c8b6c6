from collections.abc import Iterator

import pytest

from tollkeeper.core import errors
from tollkeeper.core.errors import GatewayError

STATUSES_OF_THE_SPECIFICATION = {400, 401, 403, 404, 413, 429, 500, 503}
SETTLED_BY_DECISION = {405, 409, 422, 524}


def tree(of: type[GatewayError] = GatewayError) -> Iterator[type[GatewayError]]:
    yield of
    for below in of.__subclasses__():
        yield from tree(below)


@pytest.mark.parametrize("refusal", list(tree()), ids=lambda refusal: refusal.__name__)
def test_every_refusal_speaks_to_people_and_has_a_known_status(refusal: type[GatewayError]) -> None:
    assert refusal.__doc__
    assert refusal.__doc__.strip().endswith(".")
    assert refusal.status in STATUSES_OF_THE_SPECIFICATION | SETTLED_BY_DECISION


@pytest.mark.parametrize("refusal", list(tree()), ids=lambda refusal: refusal.__name__)
def test_every_refusal_stands_in_the_drawn_tree(refusal: type[GatewayError]) -> None:
    assert refusal.__name__ in (errors.__doc__ or "")


def test_codes_are_not_shared_by_refusals_of_different_status() -> None:
    status_by_code: dict[str, int] = {}
    for refusal in tree():
        assert status_by_code.setdefault(refusal.code, refusal.status) == refusal.status
