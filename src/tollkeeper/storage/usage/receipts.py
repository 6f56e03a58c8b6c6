"""Receipts in PostgreSQL: the usage log, one call at a time."""

from uuid import UUID

import asyncpg
import msgspec

from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.charge import Ending, UsageSource
from tollkeeper.core.money.parts import UsageParts
from tollkeeper.core.money.prices import Rate, Usage
from tollkeeper.core.usage.receipt import Receipt
from tollkeeper.ports import RunningCall
from tollkeeper.storage.catalog.models import price_of
from tollkeeper.storage.postgres.database import Database

FIND = """
select u.request_id, u.account_id, u.key_id, u.group_millionths, u.input_units, u.cached_units, u.output_units,
       u.parts as usage_parts, u.held, u.charged, u.usage_source, u.ending, u.attempts, u.started_at, u.settled_at,
       p.id, p.model_id, p.effective_from, p.model_multiplier, p.completion_multiplier, p.cached_multiplier, p.variant,
       p.parts, m.kind
from usage u join price p on p.id = u.price_id join model m on m.id = p.model_id
where u.request_id = $1 and ($2::bigint is null or u.account_id = $2)
"""

FIND_RUNNING = """
select request_id, account_id, key_id, amount, created_at from hold
where request_id = $1 and ($2::bigint is null or account_id = $2) and closed_at is null
"""

decode_parts = msgspec.json.Decoder(UsageParts).decode


class SqlReceipts:
    """The `Receipts` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, request_id: UUID, *, account_id: int | None) -> Receipt | RunningCall | None:
        settled = await self._settled(request_id, account_id)
        if settled is not None:
            return settled
        running = await self._database.row(FIND_RUNNING, request_id, account_id)
        if running is None:
            # It may have been settled between the two looks.
            return await self._settled(request_id, account_id)
        return RunningCall(
            request_id=request_id,
            account_id=running["account_id"],
            key_id=running["key_id"],
            held=running["amount"],
            started_at=running["created_at"],
        )

    async def _settled(self, request_id: UUID, account_id: int | None) -> Receipt | None:
        row = await self._database.row(FIND, request_id, account_id)
        return None if row is None else _receipt(row)


def _usage(row: asyncpg.Record) -> Usage:
    parts = None if row["usage_parts"] is None else decode_parts(row["usage_parts"])
    return Usage(row["input_units"], row["output_units"], row["cached_units"], parts)


def _receipt(row: asyncpg.Record) -> Receipt:
    return Receipt(
        request_id=row["request_id"],
        account_id=row["account_id"],
        key_id=row["key_id"],
        kind=Kind(row["kind"]),
        rate=Rate(price_of(row), row["group_millionths"]),
        usage=_usage(row),
        usage_source=UsageSource(row["usage_source"]),
        ending=Ending(row["ending"]),
        held=Quota(row["held"]),
        charged=Quota(row["charged"]),
        attempts=msgspec.json.decode(row["attempts"]),
        started_at=row["started_at"],
        settled_at=row["settled_at"],
    )
