"""The sweeper: fence silent workers, and settle the open holds of dead ones and those past their deadline.

Rules of this file
1. A worker is dead when its heartbeat has been silent for three beats. It is fenced first: it may take no more holds.
2. Its holds wait a further while for its journal, which the next worker on its host replays and which knows more.
3. A sweeper that could not reach the database fences no worker for two beats: the others could not write their
   heartbeats either.
"""

import asyncio
import logging
from collections.abc import Callable

from tollkeeper.ports import HEARTBEAT_SECONDS, Ledger, Orphans

SILENT_SECONDS = 3 * HEARTBEAT_SECONDS

log = logging.getLogger(__name__)


class Sweeper:
    def __init__(self, orphans: Orphans, ledger: Callable[[], Ledger], monotonic: Callable[[], float]) -> None:
        self._orphans = orphans
        self._ledger = ledger
        self._monotonic = monotonic
        self._last_contact = float("-inf")
        self._judges_from = float("-inf")

    async def sweep(self) -> int:
        """One round; how many holds it closed."""
        now = self._monotonic()
        if now - self._last_contact > HEARTBEAT_SECONDS:
            self._judges_from = now + 2 * HEARTBEAT_SECONDS
        if now >= self._judges_from:
            for worker_id in await self._orphans.fence_silent_workers(SILENT_SECONDS):
                log.warning("worker %d is silent and was fenced", worker_id)
        settlements = await self._orphans.find()
        self._last_contact = self._monotonic()
        done = await asyncio.gather(*map(self._ledger().settle, settlements), return_exceptions=True)
        if self._monotonic() - self._last_contact > HEARTBEAT_SECONDS:
            # The database was away while we settled: no worker could write a heartbeat.
            self._judges_from = self._monotonic() + 2 * HEARTBEAT_SECONDS
        closed = done.count(True)
        failed = [problem for problem in done if isinstance(problem, Exception)]
        if failed:
            log.error("%d calls of dead workers could not be settled, the first because: %s", len(failed), failed[0])
        if closed:
            log.warning("%d calls of dead workers were settled from what is known of them", closed)
        return closed
