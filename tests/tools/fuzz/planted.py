"""What is wrong, or is not, in the targets beside this file."""

import time

# More than a search tries.
LARGE_BYTES = 10_000
SEEDS = (b'{"a":1}', b"key=value")


def crash(data: bytes) -> None:
    assert b"]" not in data


def think(data: bytes) -> None:
    """For longer than it should, of anything large."""
    until = time.thread_time() + (0.15 if len(data) > LARGE_BYTES else 0)
    while time.thread_time() < until:
        pass


def pass_by(_: bytes) -> None:
    """Nothing is wrong with this one."""
