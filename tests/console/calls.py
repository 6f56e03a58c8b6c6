"""Calls that were never made: rows of the usage log, set by hand, to be looked at."""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from html import unescape
from uuid import UUID

import asyncpg
import msgspec

from tests.customers import Customer
from tollkeeper.core.money.charge import Ending, UsageSource

INSERT = """
insert into usage (request_id, account_id, key_id, price_id, group_millionths, input_units, cached_units,
                   output_units, held, charged, usage_source, ending, attempts, started_at, settled_at)
select overlay(ledger_uuid()::text placing left(uuid_floor($1)::text, 13) from 1 for 13)::uuid, $2, $3,
       (select max(id) from price where model_id = $4), $5, $6, $7, $8, $9, $10, $11, $12, $13, $1,
       $1 + interval '1.5 seconds'
returning request_id
"""


class CallMade(msgspec.Struct, frozen=True, kw_only=True):
    """As it stands in the log."""

    model: str
    input_units: int = 100
    cached_units: int = 0
    output_units: int = 10
    group: int = 1_000_000
    charged: int = 110_000_000
    held: int = 500_000_000
    ending: Ending = Ending.COMPLETED
    source: UsageSource = UsageSource.PROVIDER
    attempts: Sequence[Mapping[str, object]] = ()
    ago: timedelta = timedelta(0)


async def a_call(owner: asyncpg.Connection, customer: Customer, call: CallMade) -> UUID:
    now: datetime = await owner.fetchval("select ledger_now()")
    request_id: UUID = await owner.fetchval(
        INSERT,
        now - call.ago,
        customer.account_id,
        customer.key_id,
        call.model,
        call.group,
        call.input_units,
        call.cached_units,
        call.output_units,
        call.held,
        call.charged,
        call.source.value,
        call.ending.value,
        json.dumps(list(call.attempts)),
    )
    return request_id


def in_words(text: str) -> str:
    """What people read of a page, without the tags."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", text)).split())
