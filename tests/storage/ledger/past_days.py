"""Calls of days gone by in the books of one customer, all of whose rows and totals agree."""

from datetime import UTC, date, datetime, timedelta

import asyncpg

from tests.customers import Customer

CALLS_A_DAY = 6
CHARGED = 400

CALLS = """
with call as (
    select (left(replace(uuid_floor($1::timestamptz + n * interval '3 hours')::text, '-', ''), 13)
            || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid as id,
           $1::timestamptz + n * interval '3 hours' as at
    from generate_series(1, $5::int) n),
held as (
    insert into hold (request_id, account_id, key_id, worker_id, price_id, group_millionths, amount, lots, amounts,
                      input_count, output_count, day, created_at, deadline_at, charged, closed_at)
    select id, $2, $3, 1, (select min(id) from price), 1000000, 1000, array[l.lot], array[1000], 100, 5, at::date, at,
           at, $4, at
    from call, (select min(id) as lot from lot where account_id = $2) l),
entered as (
    insert into entry (cause, kind, lot_id, account_id, key_id, amount, at)
    select id, 'charged', l.lot, $2, $3, $4, at from call, (select min(id) as lot from lot where account_id = $2) l),
received as (
    insert into usage (request_id, account_id, key_id, price_id, group_millionths, input_units, cached_units,
                       output_units, held, charged, usage_source, ending, attempts, started_at, settled_at, parts)
    select id, $2, $3, (select min(id) from price), 1000000, 100, 3, 50, 1000, $4, 'provider', 'completed',
           '[{"account": 1}]', at, at, '{"written_5m": 2}' from call),
spent as (update lot set remaining = remaining - $4 * $5 where id = (select min(id) from lot where account_id = $2)),
used_by_key as (update key_books set used = used + $4 * $5 where key_id = $3)
update account_books set used = used + $4 * $5 where account_id = $2
"""


def days_ago(days: int) -> date:
    return datetime.now(UTC).date() - timedelta(days=days)


async def calls_on(owner: asyncpg.Connection, customer: Customer, day: date) -> None:
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
    await owner.execute("select make_partition('usage', $1, $2)", midnight, midnight + timedelta(days=1))
    await owner.execute(CALLS, midnight, customer.account_id, customer.key_id, CHARGED, CALLS_A_DAY)
