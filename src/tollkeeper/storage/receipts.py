"""Receipts in PostgreSQL: the usage log, one call at a time."""

from uuid import UUID

import asyncpg
import msgspec

from tollkeeper.core.catalog import Kind
from tollkeeper.core.charge import Ending, UsageSource
from tollkeeper.core.money import Quota
from tollkeeper.core.prices import Rate, Usage
from tollkeeper.core.receipt import Receipt
from tollkeeper.ports import RunningCall
from tollkeeper.storage.catalog import price_of
from tollkeeper.storage.database import Database

FIND = """
select u.*, p.id, p.model_id, p.effective_from, p.model_multiplier, p.completion_multiplier, p.cached_multiplier,
       p.variant, m.kind
from usage u join price p on p.id = u.price_id join model m on m.id = p.model_id
where u.request_id = $1 and ($2::bigint is null or u.account_id = $2)
"""

FIND_RUNNING = """
select request_id, account_id, amount, created_at from hold
where request_id = $1 and ($2::bigint is null or account_id = $2) and closed_at is null
"""


class SqlReceipts:
    """The `Receipts` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, request_id: UUID, *, account_id: int | None) -> Receipt | RunningCall | None:
        row = await self._database.row(FIND, request_id, account_id)
        if row is not None:
            return _receipt(row)
        running = await self._database.row(FIND_RUNNING, request_id, account_id)
        if running is None:
            return None
        return RunningCall(
            request_id=request_id,
            account_id=running["account_id"],
            held=running["amount"],
            started_at=running["created_at"],
        )


def _receipt(row: asyncpg.Record) -> Receipt:
    return Receipt(
        request_id=row["request_id"],
        account_id=row["account_id"],
        key_id=row["key_id"],
        kind=Kind(row["kind"]),
        rate=Rate(price_of(row), row["group_millionths"]),
        usage=Usage(row["input_tokens"], row["output_tokens"], row["cached_tokens"]),
        usage_source=UsageSource(row["usage_source"]),
        ending=Ending(row["ending"]),
        held=Quota(row["held"]),
        charged=Quota(row["charged"]),
        attempts=msgspec.json.decode(row["attempts"]),
        started_at=row["started_at"],
        settled_at=row["settled_at"],
    )
