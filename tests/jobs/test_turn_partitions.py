"""The ledger's partitions as days pass, on a real database."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import asyncpg
import pytest

from tollkeeper.app.database import opened
from tollkeeper.jobs.turn_partitions import KEEP_HOLDS, turn_partitions
from tollkeeper.settings import Settings
from tollkeeper.storage.ledger.treasury import SqlTreasury
from tollkeeper.storage.postgres.database import DatabaseRole

MOVE_TIME = """
create or replace function ledger_now() returns timestamptz language sql stable parallel safe
return now() + interval '{} days'
"""
PARTITIONS = """
select to_date(right(c.relname, 8), 'YYYYMMDD') from pg_inherits i join pg_class c on c.oid = i.inhrelid
where i.inhparent = $1::text::regclass and c.relname ~ '_[0-9]{8}$' order by 1
"""
MISSING = "select count(*) from missing_partitions(ledger_now())"
WEEK = timedelta(days=7)


@pytest.fixture
async def treasury(settings: Settings) -> AsyncIterator[SqlTreasury]:
    async with opened(settings, DatabaseRole.WORKER) as database:
        yield SqlTreasury(database)


async def test_partitions_of_the_days_ahead_are_there_after_each_turn(
    owner: asyncpg.Connection, treasury: SqlTreasury
) -> None:
    for days in (0, 5, 40, 400):
        await owner.execute(MOVE_TIME.format(days))
        await turn_partitions(treasury)
        now: datetime = await owner.fetchval("select ledger_now()")
        calls = [row[0] for row in await owner.fetch(PARTITIONS, "usage")]
        assert {now.date() + timedelta(days=ahead) for ahead in range(8)} <= set(calls)
        assert await owner.fetchval(MISSING) == 0


async def test_weeks_of_holds_are_dropped_thirty_days_after_their_end_and_calls_are_kept(
    owner: asyncpg.Connection, treasury: SqlTreasury
) -> None:
    await turn_partitions(treasury)
    weeks = [row[0] for row in await owner.fetch(PARTITIONS, "hold")]
    calls = [row[0] for row in await owner.fetch(PARTITIONS, "usage")]
    today = (await owner.fetchval("select ledger_now()")).date()
    until_the_first_is_old = (weeks[0] + WEEK + KEEP_HOLDS - today).days

    await owner.execute(MOVE_TIME.format(until_the_first_is_old - 1))
    await turn_partitions(treasury)
    assert [row[0] for row in await owner.fetch(PARTITIONS, "hold")][: len(weeks)] == weeks

    await owner.execute(MOVE_TIME.format(until_the_first_is_old + 1))
    await turn_partitions(treasury)
    left = [row[0] for row in await owner.fetch(PARTITIONS, "hold")]
    assert weeks[0] not in left
    assert set(weeks[1:]) <= set(left)
    assert set(calls) <= {row[0] for row in await owner.fetch(PARTITIONS, "usage")}
