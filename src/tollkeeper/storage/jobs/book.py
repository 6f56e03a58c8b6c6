"""The book of jobs in PostgreSQL."""

from collections.abc import Mapping, Sequence

from tollkeeper.ports.jobs import JobRecord
from tollkeeper.storage.postgres.database import Database

# For how long a job stays with a worker that is not heard of.
HELD_SECONDS = 15.0

LIST = """
select name, every_seconds, case when held_until > clock_timestamp() then holder end as holder, due_at, began_at,
       ended_at, seconds, went_well, outcome, runs, failures, judged_at, judged_well
from job order by name
"""


class SqlJobBook:
    """The `JobBook` port, for one worker."""

    def __init__(self, database: Database, holder: str) -> None:
        self._database = database
        self._holder = holder

    async def hold(self, every_seconds: Mapping[str, float]) -> Sequence[str]:
        rows = await self._database.rows(
            "select * from hold_jobs($1, $2, $3, $4)",
            list(every_seconds),
            list(every_seconds.values()),
            self._holder,
            HELD_SECONDS,
        )
        return [row["name"] for row in rows if row["due"]]

    async def begin(self, name: str) -> None:
        await self._database.row("select begin_job($1, $2)", name, self._holder)

    async def end(self, name: str, *, seconds: float, went_well: bool, outcome: str, judged: bool) -> None:
        told = (seconds, went_well, outcome, judged)
        await self._database.row("select end_run($1, $2, $3, $4, $5, $6)", name, self._holder, *told)

    async def release(self) -> None:
        await self._database.row("select release_jobs($1)", self._holder)


async def jobs_on_record(database: Database) -> Sequence[JobRecord]:
    return [JobRecord(**row) for row in await database.rows(LIST)]
