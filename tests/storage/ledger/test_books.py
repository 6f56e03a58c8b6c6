"""`books check` finds what is wrong, and says where."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.customers import Customer, Customers
from tests.storage.ledger.benches import a_settlement, an_order
from tollkeeper.app.books import book_reviewer_of
from tollkeeper.app.database import opened
from tollkeeper.settings import Settings
from tollkeeper.storage.ledger.books import (
    FROM_THE_FIRST_CALL,
    audit_contains,
    audit_head,
    broken_invariants,
    check_books,
)
from tollkeeper.storage.ledger.journal import Journal
from tollkeeper.storage.ledger.sql_ledger import SqlLedger
from tollkeeper.storage.ledger.workers import register
from tollkeeper.storage.postgres.database import Database, DatabaseRole

Plan = dict[str, Any]

DAMAGE = {
    "I1 granted": ("update lot set remaining = remaining - 1 where account_id = $1", "account {account}: granted"),
    "I1 likewise": (
        """with gift as (insert into lot (account_id, granted, remaining, source, source_id, term, expires_at)
                         values ($1, 9, 9, 'x', 'y', '1 month', now()) returning id)
        update lot set remaining = remaining - 1 where account_id = $1""",
        "of account {account}: granted",
    ),
    "I2": ("update account_books set held = 5 where account_id = $1", "account {account}: held 5"),
    "I5 a lot": (
        """with other as (insert into account (name) values ('other') returning id)
        insert into lot (account_id, key_id, granted, remaining, source, source_id, term, expires_at)
        select other.id, (select id from api_key where account_id = $1), 1, 1, 'x', 'x', '1 month', now() from other""",
        "of account {account}",
    ),
    "every account": ("delete from account_books where account_id = $1", "account {account}"),
    "I3": ("update usage set charged = charged + 1 where account_id = $1", "of account {account}: receipt"),
    "I4": (
        "update hold set closed_at = null, charged = null, deadline_at = now() - interval '1 h' where account_id = $1",
        "of account {account}: hold open",
    ),
    "I5 debt": ("update account_books set debt = 3 where account_id = $1", "account {account}: debt 3"),
    "I9": ("update hold set price_id = 77 where account_id = $1", "price 77"),
    "parts of a receipt": (
        """update usage set parts = '{"written_1h": 6, "audio_input": 5}' where account_id = $1""",
        "of account {account}: 0 cached and 11 in parts of 10 input",
    ),
    "none is counted twice": (
        """update usage set parts = '{"image_output": 6}' where account_id = $1""",
        "0 in parts of 10 input, 6 in parts of 5 output",
    ),
    "shares of its input": (
        """update usage set parts = '{"written_5m": -1}' where account_id = $1""",
        "-1 in parts of 10",
    ),
    "I10": ("update account_books set used = used + 1 where account_id = $1", "account {account}: used"),
    "audit": ("update audit set actor = 'nobody' where id = 2 and $1::bigint is not null", "audit row 2"),
    "audit trail": ("delete from audit where id = 1 and $1::bigint is not null", "audit row 2"),
}

MANY_KEYS = """
with opened as (insert into account (name) select 'account ' || n from generate_series(1, 10000) n returning id)
insert into api_key (account_id, name, pepper_version, digest, hint)
select id, 'key', 1, sha256(uuid_send(gen_random_uuid())), 'sk-a…' from opened
"""


async def a_settled_call(database: Database, customer: Customer) -> None:
    worker_id = await register(database, "test")
    order = an_order(customer.account_id, customer.key_id, 1_000)
    with tempfile.TemporaryDirectory() as folder:
        ledger = SqlLedger(database, worker_id, Journal(Path(folder), worker_id), patience_seconds=5)
        await ledger.hold(order)
        await ledger.settle(a_settlement(order, 400))
        await ledger.close()


async def findings(settings: Settings) -> dict[str, list[str]]:
    async with opened(settings, DatabaseRole.WORKER) as database:
        whole = {verdict.invariant: verdict.findings for verdict in await check_books(database)}
        review = await book_reviewer_of(settings, database, actor="test").review()
        # Nothing that is found in every row escapes a check that leaves sealed days out.
        assert whole.items() <= {verdict.invariant: verdict.findings for verdict in review.verdicts}.items()
        return whole


async def test_untouched_books_are_clean(settings: Settings, customers: Customers) -> None:
    for _ in range(3):
        await customers.a_customer()
    assert not any((await findings(settings)).values())


@pytest.mark.parametrize(("named", "sql", "finding"), [(name, *damage) for name, damage in DAMAGE.items()], ids=DAMAGE)
async def test_damage_is_found_and_named(
    settings: Settings, customers: Customers, owner: asyncpg.Connection, named: str, sql: str, finding: str
) -> None:
    customer = await customers.a_customer()
    await customers.a_customer()
    await customers.a_model()
    async with opened(settings, DatabaseRole.WORKER) as database:
        await a_settled_call(database, customer)
    assert not any((await findings(settings)).values())
    await owner.execute(sql, customer.account_id)
    broken = {invariant: found for invariant, found in (await findings(settings)).items() if found}
    [(invariant, found)] = [item for item in broken.items() if named in item[0]]
    assert finding.format(account=customer.account_id) in found[0], invariant


async def test_a_trail_that_was_cut_is_found_by_its_former_head(
    settings: Settings, customers: Customers, owner: asyncpg.Connection
) -> None:
    async with opened(settings, DatabaseRole.WORKER) as database:
        empty = await audit_head(database)
        await customers.a_customer()
        head = await audit_head(database)
        await customers.a_customer()
        assert await audit_contains(database, head)
        assert await audit_contains(database, empty)
        await owner.execute("delete from audit where id >= $1", int(head.partition(":")[0]))
        assert not await audit_contains(database, head)


class Explaining:
    """Plans what it is asked instead of doing it."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection
        self.plans: dict[str, Plan] = {}

    async def execute(self, sql: str) -> None:
        await self._connection.execute(sql)

    async def fetch(self, sql: str) -> list[asyncpg.Record]:
        [explained] = json.loads(await self._connection.fetchval(f"explain (format json) {sql}"))
        self.plans[sql] = explained["Plan"]
        return []


def nodes(plan: Plan) -> Iterator[Plan]:
    yield plan
    for child in plan.get("Plans", []):
        yield from nodes(child)


def reads_a_table_for_each_row(plan: Plan) -> bool:
    again = [node["Plans"][1] for node in nodes(plan) if node["Node Type"] == "Nested Loop"]
    return any(node["Node Type"] in ("Seq Scan", "CTE Scan") for inner in again for node in nodes(inner))


async def test_whole_tables_are_not_compared_row_by_row(owner: asyncpg.Connection) -> None:
    """Even where PostgreSQL takes them for small: here none of the keys had been used when it last counted."""
    await owner.execute(MANY_KEYS)
    await owner.execute("analyze key_books")
    explaining = Explaining(owner)
    async with owner.transaction():
        await broken_invariants(explaining, FROM_THE_FIRST_CALL)
        assert await owner.fetchval("show enable_nestloop") == "on"
    assert len(explaining.plans) > 10
    assert [sql for sql, plan in explaining.plans.items() if reads_a_table_for_each_row(plan)] == []
