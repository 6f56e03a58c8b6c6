"""Growth: accounts by the million and calls by the ten million, as years of business would leave them.

Rules of this file
1. The books stay clean: every charge has its hold, its entry and its receipt, and every total is the sum of them.
2. Everything is written in sets. Tables of days, weeks and months that are not there yet are filled before they become
   partitions, so that their indexes are built once instead of row by row.
"""

import asyncio
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import asyncpg
import msgspec

from proofs.rig.database import QUOTA_EACH, connect
from proofs.rig.measuring.measured_orders import MODEL
from proofs.rig.past_calls import CALLS
from proofs.rig.proof import say
from tollkeeper.accounts.keys import KeyMaker
from tollkeeper.app.office import office
from tollkeeper.ports import KeyText
from tollkeeper.settings import load

# So many of the new accounts have keys that somebody knows: they can call.
ACTIVE = 1_000
DAYS = 30
# A call of just now may still be running.
RECENT = timedelta(minutes=10)
# Two cores, so two sessions.
SESSIONS = 2
# For sorts and indexes of millions of rows, in these sessions alone.
ROOMY = "set work_mem = '256MB'; set maintenance_work_mem = '1GB'; set synchronous_commit = off"
DAY = timedelta(days=1)

# $1 accounts in all, $2: their kind of name. One in $3 has a known key, of those in $4 to $6. A key and a lot for each.
OPEN = """
with opened as (
    insert into account (name) select $2 || ' ' || n from generate_series(1, $1::int) n returning id),
numbered as (select id, row_number() over (order by id) - 1 as n from opened)
insert into api_key (account_id, name, pepper_version, digest, hint)
select o.id, 'key', coalesce(k.version, 1), coalesce(k.digest, sha256(uuid_send(gen_random_uuid()))),
       coalesce(k.hint, 'sk-a…')
from numbered o
left join unnest($4::smallint[], $5::bytea[], $6::text[]) with ordinality k (version, digest, hint, place)
    on o.n = (k.place - 1) * $3::int
order by o.id
"""

GRANT = """
insert into lot (account_id, granted, remaining, source, source_id, term, expires_at)
select id, $1::bigint, $1::bigint, 'operator', 'growth ' || id, interval '9 months', ledger_now() + interval '9 months'
from account where id > $2 order by id
"""

# The same for every account: they were entered in the same order.
STRIDES = """
select a.id as account, k.id - a.id as key, l.id - a.id as lot
from account a join api_key k on k.account_id = a.id join lot l on l.account_id = a.id
where a.id = $1
"""

# As `settle_batch` would have left each call; its tables are filled in.
CALLS_OF_A_DAY = """
with call as materialized (
    select c.*, $5::bigint + c.account as account_id, $6::bigint + c.account as key_id,
           $7::bigint + c.account as lot_id, 1250000::bigint * (t.input + 4 * t.output) as charged,
           1250000::bigint * (t.input + 4 * 4096) as held, t.input, t.output
    from ({calls}) c, lateral (select 50 + c.n % 900 as input, 1 + c.n % 700 as output) t),
holds as (
    insert into {hold} (request_id, account_id, key_id, worker_id, price_id, group_millionths, amount, lots, amounts,
                        input_count, output_count, day, created_at, deadline_at, charged, closed_at)
    select request_id, account_id, key_id, 1, $8, 1000000, held, array[lot_id], array[held], input, 0,
           (at at time zone 'UTC')::date, at, at + interval '160 s', charged, at + interval '1 s'
    from call),
entries as (
    insert into {entry} (cause, kind, lot_id, account_id, key_id, amount, at)
    select request_id, 'charged', lot_id, account_id, key_id, charged, at + interval '1 s' from call)
insert into {usage} (request_id, account_id, key_id, price_id, group_millionths, input_units, cached_units,
                     output_units, held, charged, usage_source, ending, attempts, started_at, settled_at)
select request_id, account_id, key_id, $8, 1000000, input, 0, output, held, charged, 'provider', ending, '[]', at,
       at + interval '1 s'
from call
"""

# By key and day. A table's definition takes no parameters: the number is filled in.
SPENT = """
create temporary table spent on commit drop as
select key_id, account_id, day, sum(charged) as charged from hold where account_id > {before_first} group by 1, 2, 3
"""
# What the books say after that.
BOOKS = (
    """
    update lot set remaining = granted - s.charged
    from (select account_id, sum(charged)::bigint as charged from spent group by 1) s
    where lot.account_id = s.account_id
    """,
    """
    update account_books b set used = s.charged
    from (select account_id, sum(charged) as charged from spent group by 1) s where b.account_id = s.account_id
    """,
    """
    update key_books b set used = s.charged, day = s.day, day_total = s.day_total, month_total = s.month_total
    from (select s.key_id, last.day, sum(charged) as charged, sum(charged) filter (where s.day = last.day) as day_total,
                 sum(charged) filter (where date_trunc('month', s.day) = date_trunc('month', last.day)) as month_total
          from spent s join (select key_id, max(day) as day from spent group by 1) last using (key_id)
          group by 1, 2) s
    where b.key_id = s.key_id
    """,
)


class Table(msgspec.Struct, frozen=True):
    """A partition, there or to be."""

    parent: str
    since: datetime
    until: datetime

    @property
    def name(self) -> str:
        return f"{self.parent}_{self.since:%Y%m%d}"


class Crowd(msgspec.Struct, frozen=True):
    """Accounts in a row, and how far their keys' and their lots' ids are from theirs."""

    before_first: int
    count: int
    key_stride: int
    lot_stride: int


def customers(settings: Mapping[str, str], count: int) -> list[str]:
    """The keys of so many new accounts, each with a lot of its own."""

    async def made() -> list[str]:
        connection = await connect(settings["TOLLKEEPER_DATABASE_URL"])
        try:
            return (await _crowd(connection, settings, count, "customer", active=count))[1]
        finally:
            await connection.close()

    return asyncio.run(made())


def fill(settings: Mapping[str, str], *, accounts: int, rows: int) -> list[str]:
    """Add so many accounts, and so many calls of theirs over the last 30 days. The keys of a thousand of the accounts,
    which lie evenly among the others."""
    return asyncio.run(_fill(settings, accounts, rows))


async def _fill(settings: Mapping[str, str], accounts: int, rows: int) -> list[str]:
    url = settings["TOLLKEEPER_DATABASE_URL"]
    connection = await _roomy(url)
    begun = time.monotonic()
    try:
        crowd, keys = await _crowd(connection, settings, accounts, "account", active=min(accounts, ACTIVE))
        say(f"{accounts:,} accounts in {time.monotonic() - begun:.0f} s")
        await _write_calls(url, connection, crowd, rows)
        say(f"{rows:,} calls and their indexes after {time.monotonic() - begun:.0f} s")
        async with connection.transaction():
            await connection.execute(SPENT.format(before_first=crowd.before_first))
            for statement in BOOKS:
                await connection.execute(statement)
        say(f"their books after {time.monotonic() - begun:.0f} s")
        await connection.execute("vacuum analyze")
        await connection.execute("checkpoint")
        say(f"all of it in {time.monotonic() - begun:.0f} s")
        return keys
    finally:
        await connection.close()


async def _crowd(
    connection: asyncpg.Connection, settings: Mapping[str, str], count: int, name: str, *, active: int
) -> tuple[Crowd, list[str]]:
    """Open accounts, `active` of them with keys that are known."""
    async with office(load(settings)) as desk:
        keys = _made(desk.key_maker, active)
    before: int = await connection.fetchval("select coalesce(max(id), 0) from account")
    async with connection.transaction():
        texts = list(keys.values())
        columns = ([text.pepper_version for text in texts], [text.digest for text in texts], [t.hint for t in texts])
        await connection.execute(OPEN, count, name, count // active, *columns)
        await connection.execute(GRANT, QUOTA_EACH, before)
        strides = [await connection.fetchrow(STRIDES, place) for place in (before + 1, before + count)]
        assert strides[0] is not None, "the accounts do not stand in a row"
        assert strides[1] is not None, "the accounts do not stand in a row"
        assert tuple(strides[0])[1:] == tuple(strides[1])[1:], "keys and lots do not stand in a row"
    return Crowd(before, count, strides[0]["key"], strides[0]["lot"]), list(keys)


async def _roomy(url: str) -> asyncpg.Connection:
    connection = await connect(url)
    await connection.execute(ROOMY)
    return connection


def _made(maker: KeyMaker, count: int) -> dict[str, KeyText]:
    return dict(maker.make() for _ in range(count))


async def _write_calls(url: str, connection: asyncpg.Connection, crowd: Crowd, rows: int) -> None:
    until = datetime.now(UTC) - RECENT
    since = until - DAYS * DAY
    price: int = await connection.fetchval("select max(id) from price where model_id = $1", MODEL)
    fresh = [table for table in _tables(since, until) if await _is_missing(connection, table)]
    for table in fresh:
        await _create(connection, table)
    spans = _spans(since, until)
    done = 0

    async def write(session: asyncpg.Connection) -> None:
        nonlocal done
        while spans:
            begin, end = spans.pop(0)
            share = round(rows * ((end - since) / (until - since))) - round(rows * ((begin - since) / (until - since)))
            tables = {table.parent: table.name for table in _tables(begin, end)}
            statement = CALLS_OF_A_DAY.format(calls=CALLS, **tables)
            first = crowd.before_first
            ids = (first, first + crowd.key_stride, first + crowd.lot_stride)
            await session.execute(statement, begin, end, share, crowd.count, *ids, price)
            done += share
            if len(spans) % 5 == 0:
                say(f"{done:,} of {rows:,} calls")

    sessions = [await _roomy(url) for _ in range(SESSIONS)]
    try:
        await asyncio.gather(*map(write, sessions))
    finally:
        for session in sessions:
            await session.close()
    say(f"all written; indexes of {len(fresh)} tables")
    for table in fresh:
        await _attach(connection, table)


def _spans(since: datetime, until: datetime) -> list[tuple[datetime, datetime]]:
    """The days from `since` to `until`, the first and the last of them in part."""
    edges = [since]
    while edges[-1] < until:
        edges.append(min(_day(edges[-1]) + DAY, until))
    return list(pairwise(edges))


def _tables(since: datetime, until: datetime) -> list[Table]:
    """The partitions that hold, entry and usage have for this time: a week's, a month's, a day's."""
    found: dict[str, Table] = {}
    day = _day(since)
    while day < until:
        week, month = day - day.weekday() * DAY, day.replace(day=1)
        next_month = (month + 32 * DAY).replace(day=1)
        for table in (
            Table("hold", week, week + 7 * DAY),
            Table("entry", month, next_month),
            Table("usage", day, day + DAY),
        ):
            found[table.name] = table
        day += DAY
    return list(found.values())


def _day(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


async def _is_missing(connection: asyncpg.Connection, table: Table) -> bool:
    return bool(await connection.fetchval("select to_regclass($1) is null", table.name))


async def _create(connection: asyncpg.Connection, table: Table) -> None:
    """With everything but its indexes."""
    await connection.execute(
        f"create table {table.name} (like {table.parent} including all excluding indexes);"
        f"alter table {table.name} owner to tollkeeper_migrations"
    )
    if table.parent == "hold":
        await connection.execute(f"alter table {table.name} set (fillfactor = 70)")


async def _attach(connection: asyncpg.Connection, table: Table) -> None:
    edges = [await connection.fetchval("select uuid_floor($1)", at) for at in (table.since, table.until)]
    await connection.execute(
        f"alter table {table.parent} attach partition {table.name} for values from ('{edges[0]}') to ('{edges[1]}')"
    )
