"""Reports of the pool in PostgreSQL: every process of the gateway writes one row, again and again.

Rules of this file
1. Nothing waits for a report: it is written beside the calls, and one that fails is written again a little later.
2. A report that was not renewed for a while is of a process that is gone, and is not read.
"""

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from tollkeeper.accounts.providers.outages import PoolOutages
from tollkeeper.ports.providers.live import PoolReport, ProcessReport
from tollkeeper.steady import RepeatedStep
from tollkeeper.storage.postgres.database import Database

REPORT_EVERY_SECONDS = 5.0
STALE_SECONDS = 4 * REPORT_EVERY_SECONDS
# What nobody reads any more goes.
FORGOTTEN_SECONDS = 600.0
PROCESSES_MOST = 1_000

REPORT = """
insert into pool_report (node, process, told) values ($1, $2, $3::text::jsonb)
on conflict (node, process) do update set at = now(), told = excluded.told
"""
FORGET = "delete from pool_report where at < now() - make_interval(secs => $1)"
END = "delete from pool_report where node = $1 and process = $2"
READ = """
select node, process, at, told::text as told from pool_report
where at > now() - make_interval(secs => $1) order by node, process limit $2
"""

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(PoolReport).decode


class SqlPoolReports:
    """The reports of one process, until it ends."""

    def __init__(self, database: Database, node: str, process: int, report: Callable[[], PoolReport]) -> None:
        self._database = database
        self._own = (node, process)
        self._report = report

    async def follow(self) -> None:
        """Report again and again, until cancelled."""
        step = RepeatedStep("report of the pool")
        while True:
            await step.run(self.write)
            await asyncio.sleep(REPORT_EVERY_SECONDS)

    async def write(self) -> None:
        await self._database.row(REPORT, *self._own, encode(self._report()).decode())
        await self._database.row(FORGET, FORGOTTEN_SECONDS)

    async def end(self) -> None:
        """This process takes no more calls, and has nothing more to say."""
        await self._database.row(END, *self._own)


async def pool_reports(database: Database) -> Sequence[ProcessReport]:
    """What the processes that are heard of know. A row that cannot be read is of another version, and left out."""
    found = []
    for row in await database.rows(READ, STALE_SECONDS, PROCESSES_MOST):
        try:
            pool = decode(row["told"])
        except msgspec.MsgspecError:
            continue
        found.append(ProcessReport(node=row["node"], process=row["process"], at=row["at"], pool=pool))
    return found


async def note_outages(database: Database, found: PoolOutages) -> int:
    """Write the events of accounts that went out; how many."""
    values = (list(found.out), list(found.out.values()), sorted(found.ill))
    told: int = (await database.row("select note_outages($1, $2, $3)", *values))[0]
    return told
