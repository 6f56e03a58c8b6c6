"""The rules of the specification are all there."""

from tests.conformance import all_rules


def test_there_are_94_rules() -> None:
    assert len(all_rules()) == 94
