"""The change feed misses nothing and repeats nothing."""

import asyncio
from datetime import timedelta

import asyncpg
import pytest
from redis.asyncio import Redis

from tests.customers import Customers
from tollkeeper.core.errors import StoreUnavailable
from tollkeeper.settings import Settings
from tollkeeper.storage.postgres.changes import FORGET_ALL, Change, ChangeNotifier, Changes
from tollkeeper.storage.postgres.database import Database


@pytest.fixture
async def heard(database: Database) -> tuple[Changes, list[Change]]:
    changes = Changes(database)
    told: list[Change] = []
    changes.subscribe(told.append)
    await changes.look()
    assert told == [FORGET_ALL]
    told.clear()
    return changes, told


async def heard_so_far(heard: tuple[Changes, list[Change]]) -> None:
    """An account's first payment is a change, too."""
    changes, told = heard
    await changes.look()
    told.clear()


async def test_a_change_is_told_once(
    heard: tuple[Changes, list[Change]], customers: Customers, owner: asyncpg.Connection
) -> None:
    changes, told = heard
    customer = await customers.a_customer()
    await heard_so_far(heard)
    await owner.execute("update api_key set name = 'renamed' where id = $1", customer.key_id)
    await changes.look()
    await changes.look()
    assert told == [Change("key", customer.key_id)]


async def test_a_change_that_commits_late_is_not_missed(
    heard: tuple[Changes, list[Change]], customers: Customers, owner: asyncpg.Connection
) -> None:
    changes, told = heard
    slow, quick = await customers.a_customer(), await customers.a_customer()
    await heard_so_far(heard)
    async with owner.transaction():
        await owner.execute("update api_key set name = 'slow' where id = $1", slow.key_id)
        # Another change gets a later number and is committed first.
        await customers.desk.keys.revoke(quick.key_id, account_id=quick.account_id, actor="test")
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


async def test_a_flood_of_changes_makes_everything_forgotten(
    heard: tuple[Changes, list[Change]], owner: asyncpg.Connection
) -> None:
    changes, told = heard
    await owner.execute("insert into change (kind, subject) select 'key', n from generate_series(1, 20000) n")
    await changes.look()
    assert told == [FORGET_ALL]


async def test_another_server_makes_everything_forgotten(
    heard: tuple[Changes, list[Change]], monkeypatch: pytest.MonkeyPatch
) -> None:
    changes, told = heard
    monkeypatch.setattr(changes, "_horizon", 2**40)
    await changes.look()
    assert told == [FORGET_ALL]


async def test_many_changes_in_one_statement_are_told_one_by_one(
    heard: tuple[Changes, list[Change]], customers: Customers, owner: asyncpg.Connection
) -> None:
    changes, told = heard
    folk = [await customers.a_customer() for _ in range(3)]
    await heard_so_far(heard)
    await owner.execute("update account set name = 'renamed'")
    await changes.look()
    assert sorted(change.subject for change in told) == [customer.account_id for customer in folk]


async def test_a_nudge_is_heard_before_the_next_look_is_due(
    settings: Settings, database: Database, customers: Customers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tollkeeper.storage.postgres.changes.LOOK_EVERY_SECONDS", 3600.0)
    changes = Changes(database)
    heard_of_it = asyncio.Event()
    changes.subscribe(lambda change: heard_of_it.set() if change.kind == "key" else None)
    redis = Redis.from_url(settings.redis_url)
    notifier = ChangeNotifier(lambda: redis)
    tasks = [asyncio.create_task(changes.follow()), asyncio.create_task(notifier.follow(lambda _: changes.nudge()))]
    while not notifier.connected or not changes.fresh:  # noqa: ASYNC110 (as /readyz sees it)
        await asyncio.sleep(0.01)
    customer = await customers.a_customer()
    await customers.desk.keys.revoke(customer.key_id, account_id=customer.account_id, actor="test")
    await asyncio.wait_for(heard_of_it.wait(), 10)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await notifier.close()


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


async def test_the_feed_keeps_an_hour(customers: Customers, owner: asyncpg.Connection, database: Database) -> None:
    customer = await customers.a_customer()
    await owner.execute(
        "insert into change (kind, subject, at) select 'key', 1, now() - interval '2 hours' from generate_series(1, 9)"
    )
    await customers.desk.keys.revoke(customer.key_id, account_id=customer.account_id, actor="test")
    await database.row("select trim_changes()")
    assert await owner.fetchval("select count(*) from change where kind = 'key'") == 1


async def test_ids_go_by_the_databases_clock(heard: tuple[Changes, list[Change]], owner: asyncpg.Connection) -> None:
    changes, _ = heard
    fresh = Changes(changes._database)
    here = fresh.unix_milliseconds()
    await owner.execute(
        "create or replace function ledger_now() returns timestamptz language sql stable parallel safe"
        " return now() + interval '30 days'"
    )
    await fresh.look()
    ahead = timedelta(milliseconds=fresh.unix_milliseconds() - here)
    assert timedelta(days=30) - timedelta(seconds=5) < ahead < timedelta(days=30, minutes=5)


async def test_why_the_feed_cannot_be_read_is_told_until_it_can(database: Database, owner: asyncpg.Connection) -> None:
    changes = Changes(database)
    following = asyncio.create_task(changes.follow())

    async def until(told: str) -> None:
        async with asyncio.timeout(20):
            while told not in changes.trouble or bool(told) is not bool(changes.trouble):
                changes.nudge()
                await asyncio.sleep(0.01)

    try:
        await until("")
        await owner.execute("revoke select on change from tollkeeper_gateway")
        await until("lacks a right")
        await owner.execute("grant select on change to tollkeeper_gateway")
        await until("")
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def test_a_clock_that_jumps_is_told_again_and_one_that_stays_wrong_is_not(
    heard: tuple[Changes, list[Change]], owner: asyncpg.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    changes, _ = heard
    moved = "create or replace function ledger_now() returns timestamptz language sql stable return now() + interval {}"
    for away in ("'-10 minutes'", "'10 minutes'", "'20 minutes'", "'0'"):
        await owner.execute(moved.format(away))
        for _ in range(3):
            await changes.look()
    told = [record.getMessage() for record in caplog.records if "clock" in record.getMessage()]
    assert [line.partition("the database")[0] for line in told] == [
        "This machine's clock is 600 s ahead of ",
        "This machine's clock is 600 s behind ",
        "This machine's clock is 1200 s behind ",
        "this machine's clock is right again",
    ]
