"""Whole books of the past: holds, entries and receipts of many calls, and running totals that agree with them."""

from datetime import UTC, datetime, timedelta

import asyncpg

from proofs.rig.database import connect, fill
from proofs.rig.past_calls import CALLS
from proofs.rig.proof import say

ACCOUNTS = 2_000
# Holds are kept for 30 days: all of these calls still have theirs.
DAYS = 28
DAY = timedelta(days=1)

RECEIPTS = """
insert into usage (request_id, account_id, key_id, price_id, group_millionths, input_units, cached_units,
                   output_units, held, charged, usage_source, ending, attempts, started_at, settled_at)
select request_id, account, account, 1, 1000000, 100, 0, 50, 1000000, 375000 + n % 1000, 'provider', ending,
       '[{{"account": 1, "status": 200}}]', at, at + interval '1 s'
from ({calls}) calls
"""
HOLDS = """
insert into hold (request_id, account_id, key_id, worker_id, price_id, group_millionths, amount, lots, amounts,
                  input_count, output_count, day, created_at, deadline_at, charged, closed_at)
select u.request_id, u.account_id, u.key_id, 1, u.price_id, u.group_millionths, u.held, array[l.id], array[u.held],
       u.input_units, u.output_units, (u.started_at at time zone 'UTC')::date, u.started_at,
       u.started_at + interval '10 minutes', u.charged, u.settled_at
from usage u join lot l using (account_id)
where u.request_id >= uuid_floor($1::timestamptz) and u.request_id < uuid_floor($2::timestamptz) order by 1
"""
ENTRIES = """
insert into entry (cause, kind, lot_id, account_id, key_id, amount, at)
select u.request_id, 'charged', l.id, u.account_id, u.key_id, u.charged, u.settled_at
from usage u join lot l using (account_id)
where u.request_id >= uuid_floor($1::timestamptz) and u.request_id < uuid_floor($2::timestamptz) order by 1
"""
TOTALS = """
with gone as (select account_id, sum(amount) as amount from entry group by 1),
lots as (update lot l set remaining = granted - gone.amount from gone where gone.account_id = l.account_id),
keys as (update key_books b set used = gone.amount from gone, api_key k
         where k.id = b.key_id and k.account_id = gone.account_id)
update account_books b set used = gone.amount from gone where gone.account_id = b.account_id
"""


async def write_past(url: str, calls: int) -> None:
    """`calls` of the last four weeks up to yesterday, in a database that was just migrated."""
    await fill(url, ACCOUNTS)
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    connection = await connect(url)
    try:
        await connection.execute("insert into worker (node, ended_at) values ('past', now())")
        for number in range(DAYS, 0, -1):
            await _write_day(connection, today - number * DAY, calls // DAYS)
            if number % 7 == 1:
                say(f"{calls // DAYS * (DAYS - number + 1):,} of {calls:,} calls are in the books")
        await connection.execute(TOTALS)
        await connection.execute("vacuum analyze")
    finally:
        await connection.close()


async def _write_day(connection: asyncpg.Connection, day: datetime, calls: int) -> None:
    week = day - day.weekday() * DAY
    month = day.replace(day=1)
    for parent, since, until in (
        ("usage", day, day + DAY),
        ("hold", week, week + 7 * DAY),
        ("entry", month, (month + 32 * DAY).replace(day=1)),
    ):
        await connection.execute("select make_partition($1, $2, $3)", parent, since, until)
    await connection.execute(RECEIPTS.format(calls=CALLS), day, day + DAY - timedelta(minutes=1), calls, ACCOUNTS)
    await connection.execute(HOLDS, day, day + DAY)
    await connection.execute(ENTRIES, day, day + DAY)
