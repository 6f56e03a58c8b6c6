"""Receipts of calls that were never made: rows of the usage log, set by hand."""

from datetime import timedelta
from uuid import UUID

import asyncpg
import msgspec

from tests.customers import Customer
from tollkeeper.core.money.prices import Usage

INSERT = """
insert into usage (request_id, account_id, key_id, price_id, group_millionths, input_units, cached_units,
                   output_units, held, charged, usage_source, ending, attempts, started_at, settled_at, parts)
select overlay(ledger_uuid()::text placing left(uuid_floor(at)::text, 13) from 1 for 13)::uuid, $1, $2, $3, $4, $5, $6,
       $7, $8, $8, case when $11 then 'provider' else 'none' end, case when $11 then 'completed' else 'refused' end,
       '[]', at, at, $10::text::jsonb
from (select ledger_now() - $9::interval as at) moment
returning request_id
"""


class Counted(msgspec.Struct, frozen=True):
    """What a receipt says of its call."""

    usage: Usage = Usage(100, 10)
    group: int = 1_000_000
    charged: int = 0
    # Whether anything of it was charged.
    served: bool = True


USUAL = Counted()


async def a_call(
    owner: asyncpg.Connection, customer: Customer, price_id: int, *, usage: Counted = USUAL, days_ago: float = 0
) -> UUID:
    counts = (usage.usage.input_units, usage.usage.cached_units, usage.usage.output_units, usage.charged)
    values = (customer.account_id, customer.key_id, price_id, usage.group, *counts, timedelta(days=days_ago))
    parts = None if usage.usage.parts is None else msgspec.json.encode(usage.usage.parts).decode()
    request_id: UUID = await owner.fetchval(INSERT, *values, parts, usage.served)
    return request_id
