"""The usage log in PostgreSQL: pages by every filter, charts and totals.

Rules of this file
1. Charts and totals are of what was added up by day, and of the log itself from the horizon on, where that ends.
2. Each answer is of one snapshot.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date, timedelta
from uuid import UUID

import asyncpg

from tollkeeper.core.money import Quota
from tollkeeper.core.usage import (
    BEHIND_ALL_IDS,
    UsageDay,
    UsageFilter,
    UsagePage,
    UsageSum,
    day_ids,
    day_of,
    every_day,
)
from tollkeeper.ports.usage import Consumed
from tollkeeper.storage.database import Database
from tollkeeper.storage.usage_pages import (
    ALONG_THE_INDEX,
    HORIZON,
    HOUSE,
    account_of,
    prices_of,
    read_call,
    read_page,
)

MOST_LINES = 1_000

ROLLED_DAYS = """
select day, sum(calls) as calls, sum(input_tokens) as input_tokens, sum(cached_tokens) as cached_tokens,
       sum(output_tokens) as output_tokens, sum(charged) as charged
from usage_day
where account_id = $1 and day >= $2 and ($3::bigint is null or key_id = $3)
  and ($4::text is null or model_id = $4) and ($5::text is null or ending = $5)
group by day
"""
LOGGED = """
select count(*) as calls, coalesce(sum(input_tokens), 0) as input_tokens,
       coalesce(sum(cached_tokens), 0) as cached_tokens, coalesce(sum(output_tokens), 0) as output_tokens,
       coalesce(sum(charged), 0) as charged
from usage
where request_id >= $1 and request_id < $2 and ($3::bigint is null or account_id = $3)
  and ($4::bigint is null or key_id = $4) and ($5::bigint[] is null or price_id = any ($5))
  and ($6::text is null or ending = $6)
"""
ROLLED_SUM = """
select coalesce(sum(calls), 0) as calls, coalesce(sum(input_tokens), 0) as input_tokens,
       coalesce(sum(cached_tokens), 0) as cached_tokens, coalesce(sum(output_tokens), 0) as output_tokens,
       coalesce(sum(charged), 0) as charged
from usage_day where account_id = $1
"""
LIFETIME = "select coalesce((select used from account_books where account_id = $1), 0)"
OLDEST_CALL = "select request_id from usage order by request_id limit 1"


class SqlUsageLog:
    """The `UsageLog` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(self, wanted: UsageFilter, *, after: UUID | None, limit: int) -> UsagePage:
        limit = min(limit, MOST_LINES)
        end = min(wanted.end_id, after or BEHIND_ALL_IDS)
        async with self._snapshot() as connection:
            if wanted.request_id is not None:
                return await read_call(connection, wanted, end)
            await connection.execute(ALONG_THE_INDEX)
            return await read_page(connection, wanted, end, limit)

    async def chart(self, wanted: UsageFilter, *, days: int) -> list[UsageDay]:
        async with self._snapshot() as connection:
            account_id, prices = await account_of(connection, wanted), await prices_of(connection, wanted)
            horizon, today = await connection.fetchrow(HORIZON)
            first: date = today - timedelta(days=days - 1)
            narrow = (wanted.key_id, wanted.model_id, wanted.ending)
            rolled = await connection.fetch(ROLLED_DAYS, account_id or HOUSE, first, *narrow)
            sums = {row["day"]: _sum(row) for row in rolled}
            day = max(first, day_of(horizon))
            while day <= today:
                since, until = day_ids(day)
                values = (max(since, horizon), until, account_id, wanted.key_id, prices, wanted.ending)
                logged = _sum(await connection.fetchrow(LOGGED, *values))
                sums[day] = sums.get(day, UsageSum()) + logged
                day += timedelta(days=1)
            found = [UsageDay(*each) for each in sums.items()]
            return every_day(found, today, days)

    async def consumed(self, account_id: int) -> Consumed:
        async with self._snapshot() as connection:
            horizon: UUID = await connection.fetchval(HORIZON)
            rolled = _sum(await connection.fetchrow(ROLLED_SUM, account_id))
            values = (horizon, BEHIND_ALL_IDS, account_id, None, None, None)
            logged = _sum(await connection.fetchrow(LOGGED, *values))
            oldest: UUID | None = await connection.fetchval(OLDEST_CALL)
            return Consumed(
                rolled + logged,
                since=None if oldest is None else day_of(oldest),
                lifetime=int(await connection.fetchval(LIFETIME, account_id)),
            )

    @asynccontextmanager
    async def _snapshot(self) -> AsyncIterator[asyncpg.Connection]:
        async with (
            self._database.session() as connection,
            connection.transaction(isolation="repeatable_read", readonly=True),
        ):
            yield connection


def _sum(row: asyncpg.Record) -> UsageSum:
    return UsageSum(
        calls=int(row["calls"]),
        input_tokens=int(row["input_tokens"]),
        cached_tokens=int(row["cached_tokens"]),
        output_tokens=int(row["output_tokens"]),
        charged=Quota(int(row["charged"])),
    )
