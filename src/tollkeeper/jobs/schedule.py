"""Run jobs again and again; one that fails is told and tried again at its next turn."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from tollkeeper.steady import survive


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
        await survive(f"job {job.name}", job.run)
        await asyncio.sleep(job.every_seconds)
