"""Which databases the demo may write into: those with nothing in them."""

from collections.abc import AsyncIterator
from uuid import uuid4

import asyncpg
import pytest

from tests.conftest import Stores, variables
from tollkeeper.demo.problem import CannotRun
from tollkeeper.demo.site import check_empty
from tollkeeper.settings import Settings, load


@pytest.fixture
async def given(stores: Stores) -> AsyncIterator[Settings]:
    """A database that was just made."""
    name = f"given_{uuid4().hex}"
    await stores.admin(f'create database "{name}"')
    yield load(await variables(stores) | {"TOLLKEEPER_DATABASE_URL": stores.url_of(name)})
    await stores.admin(f'drop database "{name}" with (force)')


async def execute(settings: Settings, sql: str) -> None:
    connection = await asyncpg.connect(settings.database_url.reveal())
    try:
        await connection.execute(sql)
    finally:
        await connection.close()


async def test_an_empty_one_is_taken(given: Settings) -> None:
    await check_empty(given)


async def test_what_an_extension_brings_is_nobodys(given: Settings) -> None:
    await execute(given, "create extension pg_stat_statements")
    await check_empty(given)


@pytest.mark.parametrize(
    ("made", "named"),
    [
        ("create table customers ()", "the table public.customers"),
        ("create schema shop; create view shop.orders as select 1", "the table shop.orders"),
        ('create table "two words" (at date) partition by range (at)', 'the table public."two words"'),
        ("create schema tollkeeper", "the schema tollkeeper"),
    ],
)
async def test_one_of_another_application_is_left_alone(given: Settings, made: str, named: str) -> None:
    await execute(given, made)
    with pytest.raises(CannotRun, match="in use") as refused:
        await check_empty(given)
    assert named in str(refused.value)


async def test_one_that_was_migrated_is_left_alone_before_anybody_has_an_account(settings: Settings) -> None:
    with pytest.raises(CannotRun, match="in use: it has the schema tollkeeper"):
        await check_empty(settings)
