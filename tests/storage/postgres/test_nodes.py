"""Nodes and their versions."""

import pytest

from tollkeeper.storage.postgres.nodes import is_older


@pytest.mark.parametrize(
    ("version", "older"),
    [
        ("0.9.12", True),
        ("0.10.0", True),
        ("0.10.1", False),
        ("0.10.1rc1", True),
        ("0.10.2", False),
        ("1.0.0", False),
        ("a build", True),
    ],
)
def test_a_version_is_older_by_its_numbers_and_one_that_cannot_be_told_counts_as_older(
    version: str, older: bool
) -> None:
    assert is_older(version, "0.10.1") is older
