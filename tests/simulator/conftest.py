"""Simulators for the tests of the simulator."""

from collections.abc import Iterator

import pytest

from tools.simulator import Simulator

KEY = "sk-demo-0123456789abcdef"


@pytest.fixture(scope="session")
def sim() -> Iterator[Simulator]:
    """A simulator that takes any key."""
    with Simulator() as running:
        yield running


@pytest.fixture(scope="session")
def locked_sim() -> Iterator[Simulator]:
    """A simulator that takes one key only."""
    with Simulator(key=KEY, name="locked") as running:
        yield running


@pytest.fixture(scope="session")
def hostile_sim() -> Iterator[Simulator]:
    """A simulator that takes any key, and the directions of a malicious provider."""
    with Simulator(hostile=True) as running:
        yield running
