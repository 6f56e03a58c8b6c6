"""One page of the usage log in PostgreSQL, by any filter.

Rules of this file
1. One index leads to the calls, newest first; what else is asked for is looked at row by row. A page looks at no more
   than SCAN_ROWS of them, whatever the filters, and then says from where to go on.
2. What was added up by day tells where the next call of a narrow filter can be: whole days are passed over.
"""

from collections.abc import Mapping
from enum import Enum, auto
from uuid import UUID

import asyncpg
import msgspec

from tollkeeper.core.catalog.models import Unit
from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.charge import Ending, UsageSource
from tollkeeper.core.usage.log import UsageFilter, UsageLine, UsagePage, day_ids, day_of
from tollkeeper.storage.usage.units import with_unit

SCAN_ROWS = 2_000
# Whose sums are those of all accounts.
HOUSE = 0


class Way(Enum):
    """Which index leads to the calls."""

    KEY = auto()
    FAILURE_OF_ACCOUNT = auto()
    ACCOUNT = auto()
    FAILURE = auto()
    MODEL = auto()
    TIME = auto()


# The columns of each index before the request id, and what they must be; `s` is one of several starts. Where
# calls are asked for that did not complete, there is one for each ending.
INDEXES: Mapping[Way, tuple[str, str]] = {
    Way.KEY: ("u.key_id, ", "s.id, "),
    Way.FAILURE_OF_ACCOUNT: ("u.account_id, u.ending, ", "s.id, s.ending, "),
    Way.ACCOUNT: ("u.account_id, ", "s.id, "),
    Way.FAILURE: ("u.ending, ", "s.ending, "),
    Way.MODEL: ("u.price_id, ", "s.id, "),
    Way.TIME: ("", ""),
}
FAILURES_ONLY = {Way.FAILURE_OF_ACCOUNT, Way.FAILURE}

# As rows, because no other index could serve that; once more without, for passing over partitions.
FOUND = """
    (COLUMNSu.request_id) >= (VALUES$2) and (COLUMNSu.request_id) < (VALUES$3)
    and u.request_id >= $2 and u.request_id < $3
"""
NEWEST_FIRST = "u.request_id desc"

# A limit stands below the filters, so that no more is looked at than it says.
PAGE = with_unit("""
select c.*, p.model_id, UNIT as unit, coalesce(k.name, '') as key_name
from (select c.* from unnest($1::bigint[], $9::text[]) s (id, ending), lateral (
          select * from (
              select u.request_id, u.started_at, u.settled_at, u.account_id, u.key_id, u.price_id, u.input_units,
                     u.cached_units, u.output_units, u.charged, u.usage_source, u.ending
              from usage u where FOUND order by NEWEST_FIRST limit SCAN) seen
          where ($4::bigint is null or seen.account_id = $4) and ($5::bigint is null or seen.key_id = $5)
            and ($6::bigint[] is null or seen.price_id = any ($6)) and ($7::text[] is null or seen.ending = any ($7))
          limit $8) c
      order by c.request_id desc limit $8) c
join price p on p.id = c.price_id join model m on m.id = p.model_id left join api_key k on k.id = c.key_id
order by c.request_id desc
""")

# How far a page has looked; nothing, where it has seen everything.
LOOKED_AT = """
select seen.request_id from unnest($1::bigint[], $4::text[]) s (id, ending), lateral (
    select u.request_id from usage u where FOUND order by NEWEST_FIRST offset SCAN - 1 limit 1) seen
order by 1 desc limit 1
"""


def along(way: Way, sql: str) -> str:
    columns, values = INDEXES[way]
    found = FOUND.replace("COLUMNS", columns).replace("VALUES", values)
    if way in FAILURES_ONLY:
        found += " and u.ending <> 'completed'"
    newest_first = "".join(f"{column} desc, " for column in columns.split(", ")[:-1]) + NEWEST_FIRST
    return sql.replace("FOUND", found).replace("NEWEST_FIRST", newest_first).replace("SCAN", str(SCAN_ROWS))


PAGES = {way: along(way, PAGE) for way in Way}
LOOKED_AT_BY = {way: along(way, LOOKED_AT) for way in Way}

# Every plan goes along an index in its order, whatever the statistics of the day say, and is made once.
ALONG_THE_INDEX = """
set local enable_seqscan = off; set local enable_bitmapscan = off; set local enable_sort = off;
set local enable_hashjoin = off; set local enable_mergejoin = off; set local jit = off;
set local plan_cache_mode = force_generic_plan
"""

ONE_CALL = with_unit("""
select u.*, p.model_id, UNIT as unit, coalesce(k.name, '') as key_name
from usage u join price p on p.id = u.price_id join model m on m.id = p.model_id left join api_key k on k.id = u.key_id
where u.request_id = $1
""")
PRICES = "select array(select id from price where model_id = $1 order by id)"
# Calls below it are added up.
HORIZON = "select id, (ledger_now() at time zone 'UTC')::date as today from usage_horizon"
NEXT_DAY = """
select day from usage_day
where account_id = $1 and day <= $2 and day >= $3 and ($4::bigint is null or key_id = $4)
  and ($5::text is null or model_id = $5) and ($6::text[] is null or ending = any ($6))
order by day desc limit 1
"""
OWNER_OF_KEY = "select account_id from api_key where id = $1"


def way_of(wanted: UsageFilter) -> Way:
    """The index that has the fewest calls beside those that are asked for."""
    failure = wanted.endings is not None and Ending.COMPLETED not in wanted.endings
    ways = (
        (Way.FAILURE_OF_ACCOUNT, failure and wanted.account_id is not None),
        (Way.KEY, wanted.key_id is not None),
        (Way.ACCOUNT, wanted.account_id is not None),
        (Way.FAILURE, failure),
        (Way.MODEL, wanted.model_id is not None),
    )
    return next((way for way, fits in ways if fits), Way.TIME)


async def read_page(connection: asyncpg.Connection, wanted: UsageFilter, end: UUID, limit: int) -> UsagePage:
    way, prices = way_of(wanted), await prices_of(connection, wanted)
    endings = list(wanted.endings or ()) if way in FAILURES_ONLY else []
    starts = _starts(way, wanted, prices) * max(1, len(endings))
    bounds = (starts, wanted.first_id, end)
    narrow = (wanted.account_id, wanted.key_id, prices, wanted.endings)
    rows = await connection.fetch(PAGES[way], *bounds, *narrow, limit + 1, endings)
    lines = [_line(row) for row in rows[:limit]]
    page = UsagePage(lines, lines[-1].request_id if len(rows) > limit else None)
    # Of several starts, one may have been cut before it came to rows that belong on this page.
    if page.next is not None and len(starts) == 1:
        return page
    looked_at: UUID | None = await connection.fetchval(LOOKED_AT_BY[way], *bounds, endings)
    if looked_at is None or (page.next is not None and page.next >= looked_at):
        return page
    # Other starts may have been followed further back; what they found there comes again.
    seen = [line for line in lines if line.request_id >= looked_at]
    return UsagePage(seen, await _next_possible(connection, wanted, looked_at))


def _starts(way: Way, wanted: UsageFilter, prices: list[int] | None) -> list[int]:
    """Where an index is entered; with several endings, once for each."""
    ids = {Way.KEY: wanted.key_id, Way.ACCOUNT: wanted.account_id, Way.FAILURE_OF_ACCOUNT: wanted.account_id}
    return (prices or []) if way is Way.MODEL else [ids.get(way) or 0]


async def _next_possible(connection: asyncpg.Connection, wanted: UsageFilter, end: UUID) -> UUID | None:
    """From where to go on: `end`, or the end of the next day that has such calls. None: no older day has any."""
    if end > await connection.fetchval(HORIZON):
        return end
    account_id = await account_of(connection, wanted)
    narrow = (wanted.key_id, wanted.model_id, wanted.endings)
    day = await connection.fetchval(NEXT_DAY, account_id or HOUSE, day_of(end), day_of(wanted.first_id), *narrow)
    return None if day is None else min(end, day_ids(day)[1])


async def read_call(connection: asyncpg.Connection, wanted: UsageFilter, end: UUID) -> UsagePage:
    row = await connection.fetchrow(ONE_CALL, wanted.request_id)
    if row is None or not wanted.first_id <= row["request_id"] < end:
        return UsagePage((), None)
    line = _line(row)
    asked = msgspec.structs.asdict(wanted)
    fits = all(asked[name] in {None, getattr(line, name)} for name in ("account_id", "key_id", "model_id"))
    fits = fits and (wanted.endings is None or line.ending in wanted.endings)
    return UsagePage((line,) if fits else (), None)


async def prices_of(connection: asyncpg.Connection, wanted: UsageFilter) -> list[int] | None:
    if wanted.model_id is None:
        return None
    prices: list[int] = await connection.fetchval(PRICES, wanted.model_id)
    return prices


async def account_of(connection: asyncpg.Connection, wanted: UsageFilter) -> int | None:
    """Sums are kept by account, and a key is one account's."""
    if wanted.account_id is not None or wanted.key_id is None:
        return wanted.account_id
    owner: int | None = await connection.fetchval(OWNER_OF_KEY, wanted.key_id)
    return owner


def _line(row: asyncpg.Record) -> UsageLine:
    return UsageLine(
        request_id=row["request_id"],
        started_at=row["started_at"],
        account_id=row["account_id"],
        key_id=row["key_id"],
        key_name=row["key_name"],
        model_id=row["model_id"],
        unit=Unit(row["unit"]),
        input_units=row["input_units"],
        cached_units=row["cached_units"],
        output_units=row["output_units"],
        charged=Quota(row["charged"]),
        usage_source=UsageSource(row["usage_source"]),
        ending=Ending(row["ending"]),
        seconds=(row["settled_at"] - row["started_at"]).total_seconds(),
    )
