"""Receipts of calls that were never made: rows of the usage log, set by hand."""

from datetime import timedelta
from uuid import UUID

import asyncpg
import msgspec

from tests.customers import Customer
from tollkeeper.core.prices import Usage

INSERT = """
insert into usage (request_id, account_id, key_id, price_id, group_millionths, input_tokens, cached_tokens,
                   output_tokens, held, charged, usage_source, ending, attempts, started_at, settled_at)
select overlay(ledger_uuid()::text placing left(uuid_floor(at)::text, 13) from 1 for 13)::uuid, $1, $2, $3, $4, $5, $6,
       $7, $8, $8, 'provider', 'completed', '[]', at, at
from (select ledger_now() - $9::interval as at) moment
returning request_id
"""


class Counted(msgspec.Struct, frozen=True):
    """What a receipt says of its call."""

    usage: Usage = Usage(100, 10)
    group: int = 1_000_000
    charged: int = 0


USUAL = Counted()


async def a_call(
    owner: asyncpg.Connection, customer: Customer, price_id: int, *, usage: Counted = USUAL, days_ago: float = 0
) -> UUID:
    counts = (usage.usage.input_tokens, usage.usage.cached_tokens, usage.usage.output_tokens, usage.charged)
    values = (customer.account_id, customer.key_id, price_id, usage.group, *counts, timedelta(days=days_ago))
    request_id: UUID = await owner.fetchval(INSERT, *values)
    return request_id
