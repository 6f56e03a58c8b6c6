"""Key snapshots: quick, bounded, and never older than the feed allows."""

import asyncio
import os
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from tests.customers import ACTOR, Customers
from tollkeeper.app.office import office
from tollkeeper.core.keys import Peppers
from tollkeeper.ports import KeyText
from tollkeeper.settings import Settings, keys_by_version
from tollkeeper.storage.customers.keys import SqlKeys
from tollkeeper.storage.postgres import changes as feed
from tollkeeper.storage.postgres.changes import Changes
from tollkeeper.storage.postgres.database import Database

READERS_WAITING = """
select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()
"""


@pytest.fixture
async def changes(database: Database) -> Changes:
    """A feed that looks only when the test says so."""
    followed = Changes(database)
    await followed.look()
    return followed


@pytest.fixture
def keys(database: Database, changes: Changes, settings: Settings) -> SqlKeys:
    return SqlKeys(database, changes, peppers_of(settings), snapshots_most=3)


def peppers_of(settings: Settings) -> Peppers:
    return Peppers(keys_by_version(settings.peppers, least_bytes=32))


async def test_a_key_is_found_by_its_whole_text(customers: Customers, keys: SqlKeys) -> None:
    model = await customers.a_model()
    customer = await customers.a_customer(only_models=[model])
    found = await keys.find(customer.key)
    assert found is not None
    assert (found.key_id, found.account_id, found.group) == (customer.key_id, customer.account_id, "standard")
    assert found.only_models == frozenset({model})
    other_end = "A" if customer.key[-1] != "A" else "B"
    assert await keys.find(customer.key[:-1] + other_end) is None
    assert await keys.find(customer.key[:-1]) is None


async def test_the_text_from_before_a_rotation_has_expired_for_a_day_and_is_then_unknown(
    customers: Customers, keys: SqlKeys, changes: Changes, owner: asyncpg.Connection
) -> None:
    customer = await customers.a_customer()
    text = KeyText(1, os.urandom(32), "sk-a…")
    await customers.desk.keys.rotate(customer.key_id, text, 3_600, account_id=customer.account_id, actor=ACTOR)
    for hours, known in ((-1, True), (1, True), (23, True), (25, False)):
        until = datetime.now(UTC) - timedelta(hours=hours)
        await owner.execute("update api_key set former_until = $2 where id = $1", customer.key_id, until)
        await changes.look()
        found = await keys.find(customer.key)
        assert (found is not None) is known
        assert found is None or found.expires_at == until


async def test_a_known_key_is_not_read_again_until_it_changes(
    customers: Customers, keys: SqlKeys, changes: Changes, owner: asyncpg.Connection
) -> None:
    customer = await customers.a_customer()
    first = await keys.find(customer.key)
    assert await keys.find(customer.key) is first

    await owner.execute("update api_key set revoked_at = now() where id = $1", customer.key_id)
    assert await keys.find(customer.key) is first
    await changes.look()
    again = await keys.find(customer.key)
    assert again is not None
    assert again.revoked


async def test_disabling_an_account_reaches_all_its_keys(
    customers: Customers, keys: SqlKeys, changes: Changes, owner: asyncpg.Connection
) -> None:
    one = await customers.a_customer()
    two = await customers.a_key(one.account_id)
    bystander = await customers.a_customer()
    for customer in (one, two, bystander):
        await keys.find(customer.key)
    await owner.execute("update account set disabled_at = now() where id = $1", one.account_id)
    await changes.look()
    found = [await keys.find(customer.key) for customer in (one, two, bystander)]
    assert [record.account_disabled for record in found if record] == [True, True, False]


async def test_a_stale_feed_sends_every_lookup_to_the_database(
    customers: Customers, keys: SqlKeys, owner: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    customer = await customers.a_customer()
    await keys.find(customer.key)
    await owner.execute("update api_key set revoked_at = now() where id = $1", customer.key_id)
    monkeypatch.setattr(keys._changes, "_fresh_until", 0.0)
    found = await keys.find(customer.key)
    assert found is not None
    assert found.revoked


async def test_what_was_read_before_a_change_is_not_filed_after_it(
    customers: Customers, keys: SqlKeys, changes: Changes, owner: asyncpg.Connection
) -> None:
    customer = await customers.a_customer()
    async with owner.transaction():
        # The reader waits for this lock, with its question already on the way.
        await owner.execute("lock table account in access exclusive mode")
        reading = asyncio.create_task(keys.find(customer.key))
        while not await owner.fetchval(READERS_WAITING):  # noqa: ASYNC110 (PostgreSQL has no event for it)
            await asyncio.sleep(0.01)
        keys._on_change(feed.Change("key", customer.key_id))
    await reading
    assert not keys._snapshots


async def test_snapshots_are_bounded_and_the_longest_unused_goes_first(customers: Customers, keys: SqlKeys) -> None:
    folk = [await customers.a_customer() for _ in range(3)]
    records = [await keys.find(customer.key) for customer in folk]
    assert await keys.find(folk[0].key) is records[0]
    newcomer = await customers.a_customer()
    await keys.find(newcomer.key)
    assert len(keys._snapshots) == len(keys._by_key) == len(keys._by_account) == 3
    assert await keys.find(folk[0].key) is records[0]
    assert await keys.find(folk[1].key) is not records[1]


async def test_a_burst_of_calls_with_one_cold_key_asks_once(customers: Customers, keys: SqlKeys) -> None:
    customer = await customers.a_customer()
    found = await asyncio.gather(*(keys.find(customer.key) for _ in range(50)))
    assert all(record is found[0] for record in found)


async def test_a_caller_who_hangs_up_does_not_take_the_answer_from_others(customers: Customers, keys: SqlKeys) -> None:
    customer = await customers.a_customer()
    leaving = asyncio.create_task(keys.find(customer.key))
    staying = asyncio.create_task(keys.find(customer.key))
    await asyncio.sleep(0)
    leaving.cancel()
    assert await staying is not None


async def test_keys_made_under_an_older_pepper_are_found_after_a_rotation(
    customers: Customers, settings: Settings, database: Database, changes: Changes
) -> None:
    customer = await customers.a_customer()
    rotated = Peppers({**peppers_of(settings).by_version, 2: os.urandom(32)})
    keys = SqlKeys(database, changes, rotated, snapshots_most=3)
    first = await keys.find(customer.key)
    assert first is not None
    assert await keys.find(customer.key) is first


async def test_a_revocation_at_another_desk_is_seen_at_the_next_look(
    settings: Settings, customers: Customers, database: Database
) -> None:
    changes = Changes(database)
    keys = SqlKeys(database, changes, peppers_of(settings), snapshots_most=3)
    customer = await customers.a_customer()
    await changes.look()
    await keys.find(customer.key)
    async with office(settings) as other_desk:
        await other_desk.keys.revoke(customer.key_id, account_id=customer.account_id, actor=ACTOR)
    await changes.look()
    found = await keys.find(customer.key)
    assert found is not None
    assert found.revoked
