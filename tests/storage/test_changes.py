"""The change feed misses nothing and repeats nothing."""

from datetime import timedelta

import asyncpg
import pytest
from tests.customers import Customers

from tollkeeper.core.errors import StoreUnavailable
from tollkeeper.storage.changes import FORGET_ALL, Change, Changes
from tollkeeper.storage.database import Database


@pytest.fixture
async def heard(database: Database) -> tuple[Changes, list[Change]]:
    changes = Changes(database)
    told: list[Change] = []
    changes.tell(told.append)
    await changes.look()
    assert told == [FORGET_ALL]
    told.clear()
    return changes, told


async def test_a_change_is_told_once(
    heard: tuple[Changes, list[Change]], customers: Customers, owner: asyncpg.Connection
) -> None:
    changes, told = heard
    customer = await customers.a_customer()
    await owner.execute("update api_key set name = 'renamed' where id = $1", customer.key_id)
    await changes.look()
    await changes.look()
    assert told == [Change("key", customer.key_id)]


async def test_a_change_that_commits_late_is_not_missed(
    heard: tuple[Changes, list[Change]], customers: Customers, owner: asyncpg.Connection
) -> None:
    changes, told = heard
    slow, quick = await customers.a_customer(), await customers.a_customer()
    async with owner.transaction():
        await owner.execute("update api_key set name = 'slow' where id = $1", slow.key_id)
        # Another change gets a later number and is committed first.
        await customers.desk.keys.revoke(quick.key_id, actor="test")
        await changes.look()
        await changes.look()
        assert told == [Change("key", quick.key_id)]
    await changes.look()
    assert told == [Change("key", quick.key_id), Change("key", slow.key_id)]


async def test_a_catalog_change_is_told(heard: tuple[Changes, list[Change]], customers: Customers) -> None:
    changes, told = heard
    await customers.a_model()
    await changes.look()
    assert set(told) == {Change("catalog", 0)}


async def test_after_a_long_silence_everything_is_forgotten(
    heard: tuple[Changes, list[Change]], monkeypatch: pytest.MonkeyPatch
) -> None:
    changes, told = heard
    monkeypatch.setattr(changes, "_fresh_until", changes._fresh_until - 10_000)
    await changes.look()
    assert told == [FORGET_ALL]


async def test_time_is_the_databases(database: Database, owner: asyncpg.Connection) -> None:
    await owner.execute(
        "create or replace function ledger_now() returns timestamptz language sql stable"
        " return now() + interval '400 days'"
    )
    changes = Changes(database)
    with pytest.raises(StoreUnavailable):
        changes.now()
    await changes.look()
    difference = changes.now() - await owner.fetchval("select ledger_now()")
    assert abs(difference) < timedelta(seconds=2)


async def test_the_feed_cleans_itself(customers: Customers, owner: asyncpg.Connection) -> None:
    customer = await customers.a_customer()
    await owner.execute(
        "insert into change (kind, subject, at) select 'key', 1, now() - interval '2 hours' from generate_series(1, 9)"
    )
    await customers.desk.keys.revoke(customer.key_id, actor="test")
    assert await owner.fetchval("select count(*) from change where at < now() - interval '1 hour'") == 0
