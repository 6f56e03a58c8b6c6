"""Whatever somebody with SQL does to a row of a closed day, or to a seal, the next check finds it."""

import os
import random
from datetime import date, timedelta

import asyncpg

from tests.customers import Customers
from tests.storage.ledger.past_days import calls_on, days_ago
from tollkeeper.app.database import opened
from tollkeeper.ports.books import BooksReview
from tollkeeper.settings import Settings
from tollkeeper.storage.ledger.book_review import DAYS_UNCHANGED, SEALS_UNBROKEN, BookReviewer
from tollkeeper.storage.ledger.day_contents import FORMS, NEWEST_FORM, BookTable
from tollkeeper.storage.ledger.seals import SealKeys, end_of, first_id
from tollkeeper.storage.postgres.database import DatabaseRole

KEYS = SealKeys({1: b"a key of the test" * 2}, 1)
DAYS = 20

# Another value of each type; constraints of the tables allow them.
OTHER = {
    "bigint": "{0} + 1",
    "smallint": "{0} + 1",
    "text": "{0} || 'x'",
    "date": "{0} + 1",
    "timestamp with time zone": "{0} + interval '1 us'",
    "bigint[]": "{0} || 7::bigint",
    "jsonb": "coalesce({0}, '{{}}') || jsonb_build_array(1)",
}
# Where the table itself allows less.
OF_COLUMN = {
    "request_id": "overlay({0}::text placing '0000' from 33)::uuid",
    "cause": "overlay({0}::text placing '0000' from 33)::uuid",
    "kind": "'expired'",
    "parts": """'{{"written_1h": 2}}'""",
}
TYPES = """
select attname as name, format_type(atttypid, null) as type from pg_attribute
where attrelid = $1::text::regclass and attnum > 0 and not attisdropped
"""
SEALS_DAMAGED = {
    "contents": "update books_seal set contents = replace(contents, '\"rows\":6', '\"rows\":7') where day = $1",
    "day": "update books_seal set day = day + 1 where day = (select max(day) from books_seal) and $1::date is not null",
    "mac": "update books_seal set mac = sha256(mac) where day = $1",
    "unknown key": "update books_seal set key_version = 9 where day >= $1",
    "one left out": "delete from books_seal where day = $1",
    "the end left out": "delete from books_seal where day >= $1",
    "all left out": "delete from books_seal where $1::date is not null",
    "one added": "insert into books_seal select day + 1, contents, key_version, mac from books_seal "
    "where day = (select max(day) from books_seal) and $1::date is not null",
    "two exchanged": "update books_seal a set contents = b.contents from books_seal b "
    "where (a.day = $1 and b.day = $1 + 1) or (a.day = $1 + 1 and b.day = $1)",
    "the mark": "update books_mark set mark = replace(mark, 'transaction\":', 'transaction\":9') "
    "where $1::date is not null",
    "the mark's key": "update books_mark set key_version = 9 where $1::date is not null",
    "the record": "delete from audit where action = 'books.seal' and $1::date is not null",
}


async def review(settings: Settings) -> BooksReview:
    async with opened(settings, DatabaseRole.WORKER) as database:
        return await BookReviewer(database, KEYS, keep_holds=timedelta(days=30), actor="test").review()


def findings(books: BooksReview, invariant: str) -> list[str]:
    return next(verdict.findings for verdict in books.verdicts if verdict.invariant == invariant)


async def some_sealed_days(settings: Settings, customers: Customers, owner: asyncpg.Connection) -> list[date]:
    await customers.a_model()
    customer = await customers.a_customer()
    days = [days_ago(DAYS + 1 - number) for number in range(DAYS)][:-1]
    for day in days:
        await calls_on(owner, customer, day)
    assert (await review(settings)).days_sealed == len(days)
    return days


async def acts_on(owner: asyncpg.Connection, table: BookTable) -> list[str]:
    """Statements that change one row between $1 and $2: one for each column, and whole rows that go or come."""
    between = f"{table.id} >= $1 and {table.id} < $2"
    one = f"(select {table.id} from {table.name} where {between} order by random() limit 1)"  # noqa: S608
    acts = [f"delete from {table.name} where {table.id} = {one}"]  # noqa: S608
    columns = {row["name"]: row["type"] for row in await owner.fetch(TYPES, table.name)}
    assert set(columns) == set(table.columns.split(", ")), "a column that no seal covers"
    for name, type_name in columns.items():
        value = OF_COLUMN.get(name, OTHER.get(type_name, "")).format(name)
        acts.append(f"update {table.name} set {name} = {value} where {table.id} = {one}")  # noqa: S608
    copied = ", ".join(OF_COLUMN[name].format(name) if name == table.id else name for name in columns)
    acts.append(f"insert into {table.name} select {copied} from {table.name} where {table.id} = {one}")  # noqa: S608
    return acts


async def test_any_change_of_any_row_of_a_sealed_day_is_found(
    settings: Settings, customers: Customers, owner: asyncpg.Connection
) -> None:
    seed = os.environ.get("TAMPERING_SEED") or str(random.randrange(10**6))  # noqa: S311
    chance = random.Random(seed)  # noqa: S311
    days = await some_sealed_days(settings, customers, owner)
    harmed = []
    for table in FORMS[NEWEST_FORM].values():
        acts = await acts_on(owner, table)
        chance.shuffle(acts)
        # Each on a day of its own.
        assert len(acts) <= len(days)
        for act, day in zip(acts, chance.sample(days, len(acts)), strict=True):
            done = await owner.execute(act, first_id(day), end_of(day))
            assert done.endswith(" 1"), f"seed {seed}: {act}: {done}"
            harmed.append((day, table.name, act))
    found = findings(await review(settings), DAYS_UNCHANGED)
    missed = [(act, day) for day, name, act in harmed if not any(f.startswith(f"{day}: {name} ") for f in found)]
    assert missed == [], f"seed {seed}"
    assert len(found) == len(harmed)


async def test_any_change_of_a_seal_is_found(
    settings: Settings, customers: Customers, owner: asyncpg.Connection
) -> None:
    day = (await some_sealed_days(settings, customers, owner))[7]
    tables = ("books_seal", "books_mark", "audit")
    await owner.execute("".join(f"create table kept_{table} as table {table};" for table in tables))
    for name, damage in SEALS_DAMAGED.items():
        done = await owner.execute(damage, day)
        assert not done.endswith(" 0"), name
        books = await review(settings)
        assert findings(books, SEALS_UNBROKEN), name
        assert books.days_sealed == books.days_kept == 0, name
        for table in tables:
            await owner.execute(f"delete from {table}; insert into {table} table kept_{table}")  # noqa: S608
        assert (await review(settings)).is_clean, name
        # The mark of that check.
        await owner.execute("delete from kept_books_mark; insert into kept_books_mark table books_mark")
