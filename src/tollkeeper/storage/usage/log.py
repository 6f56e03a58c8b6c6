"""The usage log in PostgreSQL: pages by every filter, charts and totals.

Rules of this file
1. Charts and totals are of what was added up by day, and of the log itself from the horizon on, where that ends.
2. Each answer is of one snapshot.
"""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from datetime import date, timedelta
from typing import TypeVar
from uuid import UUID

import asyncpg

from tollkeeper.core.catalog.models import Unit
from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.usage.log import (
    BEHIND_ALL_IDS,
    Breakdown,
    UnitSum,
    UsageDay,
    UsageFilter,
    UsagePage,
    UsagePart,
    UsageSum,
    day_ids,
    day_of,
    every_day,
)
from tollkeeper.ports.usage import Consumed
from tollkeeper.storage.postgres.database import Database
from tollkeeper.storage.usage.pages import (
    ALONG_THE_INDEX,
    HORIZON,
    HOUSE,
    account_of,
    prices_of,
    read_call,
    read_page,
)
from tollkeeper.storage.usage.units import with_unit

MOST_LINES = 1_000
Spot = TypeVar("Spot")

COUNTS = """sum(u.input_units) as input_units, sum(u.cached_units) as cached_units,
       sum(u.output_units) as output_units, sum(u.charged) as charged"""


def _counting(sql: str) -> str:
    return with_unit(sql.replace("COUNTS", COUNTS))


# A model's unit is looked up once for what was added up of it.
ROLLED_DAYS = _counting("""
select s.*, UNIT as unit
from (select u.day, u.model_id, sum(u.calls) as calls, COUNTS
      from usage_day u
      where u.account_id = $1 and u.day >= $2 and ($3::bigint is null or u.key_id = $3)
        and ($4::text is null or u.model_id = $4) and ($5::text[] is null or u.ending = any ($5))
      group by u.day, u.model_id) s
join model m on m.id = s.model_id
""")
LOGGED = _counting("""
select s.*, UNIT as unit
from (select u.price_id, count(*) as calls, COUNTS
      from usage u
      where u.request_id >= $1 and u.request_id < $2 and ($3::bigint is null or u.account_id = $3)
        and ($4::bigint is null or u.key_id = $4) and ($5::bigint[] is null or u.price_id = any ($5))
        and ($6::text[] is null or u.ending = any ($6))
      group by u.price_id) s
join price p on p.id = s.price_id join model m on m.id = p.model_id
""")
ROLLED_SUM = _counting("""
select s.*, UNIT as unit
from (select u.model_id, sum(u.calls) as calls, COUNTS from usage_day u where u.account_id = $1 group by u.model_id) s
join model m on m.id = s.model_id
""")
# NAME is the column that a breakdown goes by.
ROLLED_PARTS = _counting("""
select s.*, UNIT as unit
from (select u.day, NAME::text as name, u.model_id, sum(u.calls) as calls, COUNTS
      from usage_day u
      where u.account_id = $1 and u.day >= $2 and u.day <= $3 and ($4::bigint is null or u.key_id = $4)
        and ($5::text is null or u.model_id = $5) and ($6::text[] is null or u.ending = any ($6))
      group by 1, 2, 3) s
join model m on m.id = s.model_id
""")
LOGGED_PARTS = _counting("""
select s.*, UNIT as unit
from (select (to_timestamp(('x' || left(replace(u.request_id::text, '-', ''), 12))::bit(48)::bigint / 1000.0)
              at time zone 'UTC')::date as day, NAME::text as name, p.model_id, count(*) as calls, COUNTS
      from usage u join price p on p.id = u.price_id
      where u.account_id = $1 and u.request_id >= $2 and u.request_id < $3 and ($4::bigint is null or u.key_id = $4)
        and ($5::text is null or p.model_id = $5) and ($6::text[] is null or u.ending = any ($6))
      group by 1, 2, 3) s
join model m on m.id = s.model_id
""")
ROLLED_BY = {by: ROLLED_PARTS.replace("NAME", f"u.{by}_id") for by in Breakdown}
LOGGED_BY = {by: LOGGED_PARTS.replace("NAME", f"{'p' if by is Breakdown.MODEL else 'u'}.{by}_id") for by in Breakdown}
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
            narrow = (wanted.key_id, wanted.model_id, wanted.endings)
            rolled = await connection.fetch(ROLLED_DAYS, account_id or HOUSE, first, *narrow)
            sums = _sums_by(lambda row: row["day"], rolled)
            day = max(first, day_of(horizon))
            while day <= today:
                since, until = day_ids(day)
                values = (max(since, horizon), until, account_id, wanted.key_id, prices, wanted.endings)
                logged = _sum(await connection.fetch(LOGGED, *values))
                sums[day] = sums.get(day, UsageSum()) + logged
                day += timedelta(days=1)
            found = [UsageDay(*each) for each in sums.items()]
            return every_day(found, today, days)

    async def parts(
        self, account_id: int, wanted: UsageFilter, *, by: Breakdown, first: date, last: date
    ) -> list[UsagePart]:
        narrow = (wanted.key_id, wanted.model_id, wanted.endings)
        since, until = day_ids(first)[0], day_ids(last)[1]
        async with self._snapshot() as connection:
            horizon: UUID = await connection.fetchval(HORIZON)
            rows = await connection.fetch(ROLLED_BY[by], account_id, first, last, *narrow)
            if horizon < until:
                rows.extend(await connection.fetch(LOGGED_BY[by], account_id, max(since, horizon), until, *narrow))
        sums = _sums_by(lambda row: (row["day"], row["name"]), rows)
        return [UsagePart(*place, sums[place]) for place in sorted(sums)]

    async def consumed(self, account_id: int) -> Consumed:
        async with self._snapshot() as connection:
            horizon: UUID = await connection.fetchval(HORIZON)
            rolled = _sum(await connection.fetch(ROLLED_SUM, account_id))
            values = (horizon, BEHIND_ALL_IDS, account_id, None, None, None)
            logged = _sum(await connection.fetch(LOGGED, *values))
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


def _sums_by(place_of: Callable[[asyncpg.Record], Spot], rows: Iterable[asyncpg.Record]) -> dict[Spot, UsageSum]:
    sums: dict[Spot, UsageSum] = {}
    for row in rows:
        place = place_of(row)
        sums[place] = sums.get(place, UsageSum()) + _of_row(row)
    return sums


def _sum(rows: Iterable[asyncpg.Record]) -> UsageSum:
    return sum(map(_of_row, rows), start=UsageSum())


def _of_row(row: asyncpg.Record) -> UsageSum:
    counted = UnitSum(
        input_units=int(row["input_units"]),
        cached_units=int(row["cached_units"]),
        output_units=int(row["output_units"]),
    )
    return UsageSum(calls=int(row["calls"]), by_unit={Unit(row["unit"]): counted}, charged=Quota(int(row["charged"])))
