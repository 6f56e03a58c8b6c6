"""Tell webhooks of provider accounts that are out by their breakers.

Rules of this file
1. Each outage is told once, however often and by however many workers this is done.
2. Where no process is heard of, nothing is known: nothing is told, and nothing is over.
"""

from collections.abc import Awaitable, Callable, Sequence

from tollkeeper.accounts.providers.outages import PoolOutages, outages_in
from tollkeeper.ports.providers.live import ProcessReport


async def watch_breakers(
    heard: Callable[[], Awaitable[Sequence[ProcessReport]]], note: Callable[[PoolOutages], Awaitable[int]]
) -> int:
    """One round; how many outages it told of."""
    reports = await heard()
    return await note(outages_in(reports)) if reports else 0
