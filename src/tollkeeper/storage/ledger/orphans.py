"""Orphans: open holds whose owner is dead, or whose time is long over, and what to charge for them."""

import asyncpg

from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.charge import Ending, orphan_charge
from tollkeeper.core.money.prices import Rate
from tollkeeper.ports import Settlement
from tollkeeper.storage.catalog.models import price_of
from tollkeeper.storage.postgres.database import Database

# A worker that starts again on the same host settles from its predecessor's journal, which knows more than we do.
JOURNAL_SECONDS = 30
ORPHANS_AT_ONCE = 1_000

HOLDS = """
select h.request_id, h.account_id, h.amount, h.input_count, h.output_count, h.group_millionths, p.id,
       p.model_id, p.effective_from, p.model_multiplier, p.completion_multiplier, p.cached_multiplier,
       p.variant, p.parts
from hold h
join worker w on w.id = h.worker_id
join price p on p.id = h.price_id
where h.closed_at is null
"""
FIND = f"""
{HOLDS} and (least(w.fenced_at, w.ended_at) < now() - make_interval(secs => $1) or h.deadline_at < ledger_now())
order by h.deadline_at limit $2
"""
FIND_OF_WORKER = f"{HOLDS} and h.worker_id = $1"


class SqlOrphans:
    """The `Orphans` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def fence_silent_workers(self, silence_seconds: float) -> list[int]:
        rows = await self._database.rows("select fence_workers(make_interval(secs => $1))", silence_seconds)
        return [row[0] for row in rows]

    async def find(self) -> list[Settlement]:
        return [_settlement(row) for row in await self._database.rows(FIND, float(JOURNAL_SECONDS), ORPHANS_AT_ONCE)]

    async def find_of_worker(self, worker_id: int) -> list[Settlement]:
        """The open holds of one worker that is known to be dead."""
        return [_settlement(row) for row in await self._database.rows(FIND_OF_WORKER, worker_id)]


def _settlement(row: asyncpg.Record) -> Settlement:
    rate = Rate(price_of(row), row["group_millionths"])
    return Settlement(
        request_id=row["request_id"],
        account_id=row["account_id"],
        charge=orphan_charge(row["input_count"], row["output_count"], rate, held=Quota(row["amount"])),
        ending=Ending.OWNER_DIED,
    )
