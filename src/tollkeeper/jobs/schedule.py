"""Run jobs again and again; one that fails is told and tried again at its next turn."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

import msgspec

from tollkeeper.core.errors import StoreUnavailable

log = logging.getLogger(__name__)


class Job(msgspec.Struct, frozen=True):
    name: str
    every_seconds: float
    run: Callable[[], Awaitable[object]]


async def run_forever(jobs: list[Job]) -> None:
    """Until cancelled."""
    async with asyncio.TaskGroup() as group:
        for job in jobs:
            group.create_task(_repeat(job))


async def _repeat(job: Job) -> None:
    while True:
        try:
            await job.run()
        except StoreUnavailable:
            log.warning("job %s waits: a store is out of reach", job.name)
        except Exception as problem:  # A worker must survive one bad job; its message may quote data, so only its kind.
            log.error("job %s failed: %s", job.name, type(problem).__qualname__)
        await asyncio.sleep(job.every_seconds)
