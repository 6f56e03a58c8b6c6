"""Waiting for a ledger that cannot be asked just now."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tollkeeper.core.errors import Unavailable, WorkerFenced

Obtained = TypeVar("Obtained")

# How long a stream waits for a database that is away before it is ended, and how often it asks.
EXTENSION_PATIENCE_SECONDS = 60.0
EXTENSION_RETRY_SECONDS = 0.25


async def patiently(ask: Callable[[], Awaitable[Obtained]]) -> Obtained:
    """What the ledger says, once it can be asked."""
    loop = asyncio.get_running_loop()
    give_up_at = loop.time() + EXTENSION_PATIENCE_SECONDS
    while True:
        try:
            return await ask()
        except WorkerFenced:
            raise
        except Unavailable:
            if loop.time() > give_up_at:
                raise
            await asyncio.sleep(EXTENSION_RETRY_SECONDS)
