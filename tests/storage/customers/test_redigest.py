"""Keys filed under the pepper in use, when they are looked up."""

import os

import asyncpg
import pytest

from tests.customers import ACTOR, Customers
from tollkeeper.accounts.keys import rotate_key
from tollkeeper.core.keys import Peppers
from tollkeeper.settings import Settings, peppers_in
from tollkeeper.storage.customers.keys import SqlKeys
from tollkeeper.storage.customers.redigest import SqlRedigests
from tollkeeper.storage.postgres.changes import Changes
from tollkeeper.storage.postgres.database import Database

SECOND = os.urandom(32)


@pytest.fixture
def ahead(settings: Settings) -> Peppers:
    return Peppers({**peppers_in(settings.peppers)[0], 2: SECOND}, 2)


def keys_of(database: Database, peppers: Peppers) -> tuple[SqlKeys, SqlRedigests]:
    """Of a node that has just started: it knows nothing by heart."""
    redigests = SqlRedigests(database, peppers.in_use)
    return SqlKeys(database, Changes(database), peppers, snapshots_most=3, redigest=redigests.note), redigests


async def versions(owner: asyncpg.Connection) -> tuple[int, int | None]:
    return tuple(await owner.fetchrow("select pepper_version, former_pepper_version from api_key"))


async def test_a_key_and_its_text_from_before_a_rotation_are_both_filed_anew(
    customers: Customers, database: Database, ahead: Peppers, owner: asyncpg.Connection
) -> None:
    customer = await customers.a_customer()
    renewed = await rotate_key(
        customer.key_id,
        3_600,
        customers.desk.key_maker,
        customers.desk.keys,
        account_id=customer.account_id,
        actor=ACTOR,
    )
    assert await versions(owner) == (1, 1)
    keys, redigests = keys_of(database, ahead)
    await keys.find(customer.key)
    assert await redigests.flush() == 1
    assert await versions(owner) == (1, 2)
    await keys.find(renewed.key)
    assert await redigests.flush() == 1
    assert await versions(owner) == (2, 2)
    alone, _ = keys_of(database, Peppers({2: SECOND}))
    for text in (customer.key, renewed.key):
        found = await alone.find(text)
        assert found is not None
        assert found.key_id == customer.key_id


async def test_a_node_that_is_behind_files_nothing_back(
    customers: Customers, database: Database, ahead: Peppers, owner: asyncpg.Connection
) -> None:
    customer = await customers.a_customer()
    keys, redigests = keys_of(database, ahead)
    await keys.find(customer.key)
    await redigests.flush()
    behind, redigests_behind = keys_of(database, Peppers(ahead.by_version, 1))
    assert await behind.find(customer.key) is not None
    assert await redigests_behind.flush() == 0
    assert await versions(owner) == (2, None)


async def test_a_key_whose_text_changed_meanwhile_keeps_its_new_text(
    customers: Customers, database: Database, ahead: Peppers, owner: asyncpg.Connection
) -> None:
    customer = await customers.a_customer()
    keys, redigests = keys_of(database, ahead)
    await keys.find(customer.key)
    renewed = await rotate_key(
        customer.key_id, 0, customers.desk.key_maker, customers.desk.keys, account_id=customer.account_id, actor=ACTOR
    )
    assert await redigests.flush() == 0
    assert await versions(owner) == (1, None)
    fresh, _ = keys_of(database, ahead)
    assert await fresh.find(customer.key) is None
    assert await fresh.find(renewed.key) is not None
