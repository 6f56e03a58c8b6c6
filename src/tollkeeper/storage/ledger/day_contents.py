"""What the rows of a day are: how many, what they add up to, and a SHA-256 of every column of each, in their order.

Rules of this file
1. A form is a list of columns, and is never changed: seals were made of it. A column that is added to a table goes into
   the next form, which new seals are made of. A column that is renamed is renamed here: digests are of its values, in
   its place, and not of its name.
2. Rows are digested in their binary form (`record_send`), which tells lengths and nulls apart, minute by minute:
   no more than a minute's rows are in the server's memory.
3. Bounds come from here and not from functions of the schema: whoever can change rows could change those, too.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

import asyncpg
import msgspec

from tollkeeper.storage.ledger.seals import DayContents, TableContents, end_of, id_at

NEWEST_FORM = 1
MINUTES = 24 * 60


class BookTable(msgspec.Struct, frozen=True):
    name: str
    # The request id, or what an entry has in its place.
    id: str
    order: str
    money: str
    columns: str


USAGE = BookTable(
    "usage",
    id="request_id",
    order="request_id",
    money="charged",
    columns="request_id, account_id, key_id, price_id, group_millionths, input_units, cached_units, output_units, "
    "held, charged, usage_source, ending, attempts, started_at, settled_at, parts",
)
HOLD = BookTable(
    "hold",
    id="request_id",
    order="request_id",
    money="charged",
    columns="request_id, account_id, key_id, worker_id, price_id, group_millionths, amount, lots, amounts, "
    "input_count, output_count, extensions, day, created_at, deadline_at, charged, closed_at",
)
ENTRY = BookTable(
    "entry",
    id="cause",
    # By bytes: the order of words differs between servers.
    order='cause, kind collate "C", lot_id',
    money="amount",
    columns="cause, kind, lot_id, account_id, key_id, amount, at",
)
FORMS: Mapping[int, Mapping[str, BookTable]] = {1: {table.name: table for table in (USAGE, HOLD, ENTRY)}}

DIGEST = """
select coalesce(sum(part.rows), 0)::bigint as rows, coalesce(sum(part.total), 0)::text as total,
       encode(sha256(string_agg(part.digest, '' order by minute.place)), 'hex') as sha256
from unnest($1::uuid[], $2::uuid[]) with ordinality minute (since, until, place),
lateral (select count(*) as rows, sum(money) as total, sha256(coalesce(string_agg(bytes, ''), '')) as digest
         from (select {money} as money, record_send(row({columns})) as bytes from {name}
               where {id} >= minute.since and {id} < minute.until order by {order} offset 0) as sorted) part
"""
PRICES = """
select price_id from hold where request_id >= $1 and request_id < $2
union select price_id from usage where request_id >= $1 and request_id < $2 order by 1
"""


async def table_contents(connection: asyncpg.Connection, form: int, name: str, since: UUID, day: date) -> TableContents:
    """Count and digest of the rows from `since`, the end of the sealed day before, to the end of the day."""
    table = FORMS[form][name]
    bounds = [since, *_minutes(since, day), end_of(day)]
    sql = DIGEST.format(**msgspec.structs.asdict(table))
    row = await connection.fetchrow(sql, bounds[:-1], bounds[1:])
    return TableContents(row["rows"], row["total"], row["sha256"])


async def day_contents(connection: asyncpg.Connection, since: UUID, day: date) -> DayContents:
    form = NEWEST_FORM
    return DayContents(
        form=form,
        tables={name: await table_contents(connection, form, name, since, day) for name in FORMS[form]},
        prices=[row["price_id"] for row in await connection.fetch(PRICES, since, end_of(day))],
    )


def _minutes(since: UUID, day: date) -> list[UUID]:
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
    edges = (id_at(midnight + timedelta(minutes=minute)) for minute in range(MINUTES))
    return [edge for edge in edges if edge > since]
