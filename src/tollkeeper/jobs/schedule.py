"""The schedule: one worker at a time runs a job (a lease); a failed run is logged, and repeated at its next turn.

Rules of this file
1. A job that is still being done is not begun again, and keeps its worker.
2. The job book keeps what a run found, as a number of things in words. Never a text that a caller sent.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from tollkeeper.ports.jobs import JobBook
from tollkeeper.steady import RepeatedStep, run_and_log, tried

LOOK_EVERY_SECONDS = 1.0


class Job(msgspec.Struct, frozen=True):
    name: str
    every_seconds: float
    run: Callable[[], Awaitable[object]]
    # Of what it says how many there were: "lots closed".
    counts: str = ""
    # Of a check: how it begins to say that it was made, and found something wrong. Other failures are no verdict.
    bad_verdict: str | None = None


class Schedule:
    def __init__(self, jobs: Sequence[Job], book: JobBook) -> None:
        self._jobs = {job.name: job for job in jobs}
        self._book = book
        self._under_way: dict[str, asyncio.Task[None]] = {}

    async def run_forever(self) -> None:
        """Until cancelled; then jobs under way are cancelled too, and others may have them."""
        looking = RepeatedStep("look for due jobs")
        try:
            while True:
                await looking.run(self._look)
                await asyncio.sleep(LOOK_EVERY_SECONDS)
        finally:
            for task in self._under_way.values():
                task.cancel()
            await asyncio.gather(*self._under_way.values(), return_exceptions=True)
            await run_and_log("letting jobs go", self._book.release)

    async def _look(self) -> None:
        # It may end while the book is asked, which may still say that it is due.
        under_way = set(self._under_way)
        for name in await self._book.hold({job.name: job.every_seconds for job in self._jobs.values()}):
            if name not in under_way:
                task = self._under_way[name] = asyncio.create_task(self._do(self._jobs[name]))
                task.add_done_callback(lambda _, name=name: self._under_way.pop(name, None))  # type: ignore[misc]

    async def _do(self, job: Job) -> None:
        begun = time.monotonic()
        await run_and_log(f"beginning of {job.name}", lambda: self._book.begin(job.name))
        went_well, found = await tried(f"job {job.name}", job.run)
        seconds = time.monotonic() - begun
        outcome = str(found) if not went_well else "done" if found is None else f"{found} {job.counts}".strip()
        judged = went_well or (job.bad_verdict is not None and outcome.startswith(job.bad_verdict))
        await run_and_log(
            f"ending of {job.name}",
            lambda: self._book.end(job.name, seconds=seconds, went_well=went_well, outcome=outcome, judged=judged),
        )
