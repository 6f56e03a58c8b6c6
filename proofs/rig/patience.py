"""Waiting: how long a proof waits for what must come, and longer in CI, whose machine others keep busy.

A wait is no measure. What may not take longer than it does is measured and judged, by hand and in full size.
"""

import os
from collections.abc import Awaitable, Callable

from tools.services import process

TIMES_AS_LONG_IN_CI = 3
# What a server may take to be ready, or a row to be there, where nobody says otherwise.
READY_WITHIN_SECONDS = 120.0


def patience(seconds: float) -> float:
    """How long to wait for what takes so long on a quiet machine at the most."""
    return seconds * TIMES_AS_LONG_IN_CI if "CI" in os.environ else seconds


def wait_until(
    is_true: Callable[[], bool],
    check: Callable[[], None] = lambda: None,
    within_seconds: float = READY_WITHIN_SECONDS,
) -> None:
    """Wait until it is true; `check` may raise to give up early. Raise TimeoutError."""
    process.wait_until(is_true, check, patience(within_seconds))


async def wait_until_async(
    is_true: Callable[[], Awaitable[bool]], within_seconds: float = READY_WITHIN_SECONDS
) -> None:
    """Wait as `wait_until` does, for what can only be asked asynchronously."""
    await process.wait_until_async(is_true, patience(within_seconds))


def came_true(is_true: Callable[[], bool], *, within_seconds: float) -> bool:
    """Wait until it is true; False where it did not become so. What is missing then is judged by the proof."""
    try:
        wait_until(is_true, within_seconds=within_seconds)
    except TimeoutError:
        return False
    return True


async def came_true_async(is_true: Callable[[], Awaitable[bool]], *, within_seconds: float) -> bool:
    """Wait as `came_true` does, for what can only be asked asynchronously."""
    try:
        await wait_until_async(is_true, within_seconds)
    except TimeoutError:
        return False
    return True
