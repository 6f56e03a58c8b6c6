"""The migration that calls counts units: no row is written anew, and who settles or has sealed notices nothing."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from uuid import UUID, uuid4

import asyncpg
import msgspec
import pytest

from tests.conftest import Stores
from tollkeeper.core.request_id import uuid7
from tollkeeper.storage.ledger.day_contents import DIGEST, FORMS, table_contents
from tollkeeper.storage.ledger.seals import end_of
from tollkeeper.storage.postgres.schema import migrate
from tools.stored_functions import mismatched

BEFORE = "0029"
# As the version before asks.
HOLD = """
select verdict from hold_batch(1, array[$1::uuid], '{0}', '{1}', '{1}', '{900}', '{1}', '{1000000}', '{1}', '{60}')
"""
SETTLE = """
select settled from settle_batch(array[$1::uuid], '{1}', '{700}', '{30}', '{3}', '{5}', '{measured}', '{completed}',
                                 '{[]}', array[null])
"""
FURNISH = """
insert into account (name) values ('a');
insert into api_key (account_id, name, pepper_version, digest, hint) values (1, 'k', 1, sha256('k'), 'h');
select credit(1, null, 1000000000000000, 'test', 'test', 9, 0);
insert into worker (node) values ('before');
insert into model (id, kind) values ('m', 'transcription');
select enter_price('m', '', 1, 1, 1, null, interval '0', null, 'test');
"""
FILES = """
select array_agg(pg_relation_filenode(relid) order by relid)
from (select relid from pg_partition_tree('usage') where isleaf union all select 'usage_day'::regclass) tables
"""
# Form 1 of the seals, as the versions before wrote it.
SEALED_COLUMNS = (
    "request_id, account_id, key_id, price_id, group_millionths, input_tokens, cached_tokens, output_tokens, held, "
    "charged, usage_source, ending, attempts, started_at, settled_at, parts"
)


@pytest.fixture
async def before(stores: Stores) -> AsyncIterator[tuple[str, asyncpg.Connection]]:
    """A database of the version before, with a customer."""
    name = f"test_{uuid4().hex}"
    await stores.admin(f'create database "{name}"')
    url = stores.url_of(name)
    await asyncio.to_thread(migrate, url, BEFORE)
    owner = await asyncpg.connect(url, server_settings={"search_path": "tollkeeper"})
    await owner.execute(FURNISH)
    yield url, owner
    await owner.close()
    await stores.admin(f'drop database "{name}" with (force)')


async def a_call(owner: asyncpg.Connection) -> UUID:
    request_id = uuid7(time.time_ns() // 1_000_000, os.urandom(10))
    assert await owner.fetchval(HOLD, request_id) == "admitted"
    assert await owner.fetchval(SETTLE, request_id)
    return request_id


async def test_the_seal_of_a_day_from_before_still_fits(before: tuple[str, asyncpg.Connection]) -> None:
    url, owner = before
    since = uuid7(0, bytes(10))
    calls = [await a_call(owner) for _ in range(3)]
    day = datetime.now(UTC).date()
    sealed = DIGEST.format(**msgspec.structs.asdict(FORMS[1]["usage"]) | {"columns": SEALED_COLUMNS})
    was = await owner.fetchrow(sealed, [since], [end_of(day)])
    files = await owner.fetchval(FILES)

    await asyncio.to_thread(migrate, url)

    assert await owner.fetchval(FILES) == files, "rows were written anew"
    now = DIGEST.format(**msgspec.structs.asdict(FORMS[1]["usage"]))
    found = await owner.fetchrow(now, [since], [end_of(day)])
    assert tuple(found) == tuple(was)
    assert (found["rows"], found["total"]) == (len(calls), str(700 * len(calls)))
    assert (await table_contents(owner, 1, "usage", since, day)).rows == len(calls)
    assert await mismatched(owner) == []


async def test_a_node_of_the_version_before_settles_as_ever(before: tuple[str, asyncpg.Connection]) -> None:
    url, owner = before
    # It has asked before, and keeps its plans.
    await a_call(owner)
    await asyncio.to_thread(migrate, url)
    request_id = await a_call(owner)
    row = await owner.fetchrow("select * from usage where request_id = $1", request_id)
    assert [row[name] for name in ("input_units", "cached_units", "output_units", "charged")] == [30, 3, 5, 700]
