"""The house in figures: open holds, lots that lapse, what waits for people, coming prices; how fast the stores are."""

import time
from collections.abc import Awaitable, Callable

from tollkeeper.core.money.amounts import Quota
from tollkeeper.ports.house import AnnouncedPrice, HouseFacts
from tollkeeper.storage.postgres.database import Database

# Along the index of open holds, which are few.
HOLDS = """
select count(*)::int as holds, coalesce(sum(amount), 0)::bigint as held,
       coalesce(extract(epoch from ledger_now() - min(created_at)), 0)::float8 as oldest_seconds,
       count(*) filter (where deadline_at + interval '60 s' < ledger_now())::int as overdue
from hold where closed_at is null
"""
# Along the index of open lots by the day on which they lapse.
LAPSING = """
select count(*)::int as lots, count(distinct account_id)::int as accounts,
       coalesce(sum(remaining), 0)::bigint as left_over
from lot
where closed_at is null and remaining > 0
    and expires_at > ledger_now() and expires_at < ledger_now() + interval '7 days'
"""
# Each along an index of those that wait, which are few.
WAITING = """
select (select count(*) from dispute where state = 'open')::int as disputes,
       (select count(*) from factor_reset where outcome is null and expires_at > ledger_now())::int as resets,
       (select count(*) from withdrawal where state in ('requested', 'approved'))::int as withdrawals
"""
ANNOUNCED = """
select id as price_id, model_id as model, variant, effective_from from price
where effective_from > ledger_now() and withdrawn_at is null order by effective_from, id limit $1
"""
ANNOUNCED_MOST = 20


async def house_facts(database: Database, redis_ms: Callable[[], Awaitable[float | None]]) -> HouseFacts:
    begun = time.perf_counter()
    await database.row("select 1")
    database_ms = 1_000 * (time.perf_counter() - begun)
    holds, lapsing = await database.row(HOLDS), await database.row(LAPSING)
    waiting = await database.row(WAITING)
    announced = await database.rows(ANNOUNCED, ANNOUNCED_MOST)
    return HouseFacts(
        open_holds=holds["holds"],
        held=Quota(holds["held"]),
        oldest_hold_seconds=holds["oldest_seconds"],
        overdue_holds=holds["overdue"],
        lapsing_lots=lapsing["lots"],
        lapsing_accounts=lapsing["accounts"],
        lapsing=Quota(lapsing["left_over"]),
        open_disputes=waiting["disputes"],
        waiting_resets=waiting["resets"],
        open_withdrawals=waiting["withdrawals"],
        announced_prices=[AnnouncedPrice(**row) for row in announced],
        database_ms=database_ms,
        redis_ms=await redis_ms(),
    )
