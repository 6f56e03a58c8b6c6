"""`hold_one` says and writes what `hold_batch` does with one row, whatever there is in the books."""

import asyncio
import random
from collections.abc import Sequence
from uuid import UUID

import asyncpg
import pytest

from tests.customers import Customer, Customers
from tollkeeper.settings import Settings

CASES = 300
BATCH = "select verdict, available from hold_batch($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
BLOCKED = "select exists (select from pg_stat_activity where wait_event_type = 'Lock' and pid = $1)"
ONE = "select verdict, available from hold_one($1, $2, $3, $4, $5, $6, $7, $8, $9)"
HELD_BEFORE = """
insert into hold (request_id, account_id, key_id, worker_id, price_id, group_millionths, amount, lots, amounts,
                  input_count, day, created_at, deadline_at, charged, closed_at)
values ($1, $2, $3, $4, 1, 1, 1, '{}', '{}', 1, current_date, now(), now(), $5,
        case when $5::bigint is not null then now() end)
"""
STATE = (
    "select * from hold order by request_id",
    "select id, remaining from lot order by id",
    "select * from account_books order by account_id",
    "select * from key_books order by key_id",
)
# Round, so that what is asked for is often just enough, or one too much.
AMOUNTS = (0, 1, 99, 100, 101, 300)


async def a_worker(owner: asyncpg.Connection) -> int:
    return int(await owner.fetchval("insert into worker (node) values ('here') returning id"))


async def change_books(owner: asyncpg.Connection, folk: Sequence[Customer], chance: random.Random) -> None:
    """Whatever may stand in the books: lots of keys, old and empty ones, quotas, budgets of other days, debts."""
    lots = await owner.fetch("select id, account_id, source from lot order by id")
    for lot in lots:
        keys = [one.key_id for one in folk if one.account_id == lot["account_id"]]
        await owner.execute(
            "update lot set key_id = $2, expires_at = ledger_now() + make_interval(days => $3), remaining = $4"
            " where id = $1",
            *(lot["id"], chance.choice([None, None, *keys]), chance.choice([-1, 1, 2, 2]), chance.choice(AMOUNTS)),
        )
    for one in folk:
        quota, day, month = (chance.choice([None, None, *AMOUNTS]) for _ in range(3))
        await owner.execute(
            "update api_key set quota = $2, daily_budget = $3, monthly_budget = $4 where id = $1",
            *(one.key_id, quota, day, month),
        )
        await owner.execute(
            "update key_books set used = $2, held = $3, day = (ledger_now() at time zone 'UTC')::date + $4::int,"
            " day_total = $5, month_total = $6 where key_id = $1",
            *(one.key_id, chance.choice([0, 50]), chance.choice([0, 50]), chance.choice([-40, -1, 0, 1]), 50, 100),
        )
        await owner.execute(
            "update account_books set debt = $2 where account_id = $1", one.account_id, chance.choice([0, 0, 0, 7])
        )


async def found_after(owner: asyncpg.Connection, sql: str, *values: object) -> tuple[object, ...]:
    """What a statement says and what there is after it, which is then taken back."""
    asking = owner.transaction()
    await asking.start()
    said = await owner.fetch(sql, *values)
    state = [await owner.fetch(table) for table in STATE]
    await asking.rollback()
    return said, *state


async def test_one_call_is_judged_and_written_as_in_a_batch(customers: Customers, owner: asyncpg.Connection) -> None:
    chance, worker = random.Random(19), await a_worker(owner)  # noqa: S311 (a test's choices)
    first, other = await customers.a_customer(), await customers.a_customer()
    second = await customers.a_key(first.account_id)
    folk = [first, second, other]
    for _ in range(3):
        await customers.credit(first.account_id, "10")
    verdicts = set()
    for case in range(CASES):
        scene = owner.transaction()
        await scene.start()
        await change_books(owner, folk, chance)
        caller, key_of = chance.choice(folk), chance.choice([*folk, None])
        request = UUID(int=chance.getrandbits(128))
        if chance.random() < 0.3:
            # It was held for before, perhaps by another, and perhaps settled.
            await owner.execute(
                HELD_BEFORE, request, caller.account_id, chance.choice(folk).key_id, worker, chance.choice([None, 5])
            )
        key_id = caller.key_id if key_of is None or chance.random() < 0.6 else key_of.key_id
        asked = (caller.account_id, key_id, chance.choice(AMOUNTS), 3, 1_000_000, 11, 60)
        batch = await found_after(owner, BATCH, worker, [request], [0], *([value] for value in asked))
        one = await found_after(owner, ONE, worker, request, *asked)
        assert one == batch, case
        verdicts.add(batch[0][0]["verdict"])  # type: ignore[index]
        await scene.rollback()
    # Otherwise this would show little.
    assert verdicts == {
        *("admitted", "replayed", "closed", "unknown_key", "unknown_hold"),
        *("debt", "account_short", "key_short", "budget"),
    }


async def test_who_waited_for_the_books_judges_by_what_they_say_then(
    customers: Customers, owner: asyncpg.Connection, settings: Settings
) -> None:
    customer, worker = await customers.a_customer(), await a_worker(owner)
    asked = (customer.account_id, customer.key_id, 1, 3, 1_000_000, 11, 60)
    other = await asyncpg.connect(settings.database_url, server_settings={"search_path": "tollkeeper"})
    changing = owner.transaction()
    await changing.start()
    await owner.execute("update account_books set debt = 7 where account_id = $1", customer.account_id)
    waiting = asyncio.create_task(other.fetch(ONE, worker, UUID(int=5), *asked))
    while not await owner.fetchval(BLOCKED, other.get_server_pid()):
        assert not waiting.done()
    await changing.commit()
    assert [tuple(row) for row in await waiting] == [("debt", 7)]
    await other.close()


@pytest.mark.parametrize("in_a_batch", [False, True])
async def test_who_died_while_it_waited_for_the_books_holds_nothing(
    customers: Customers, owner: asyncpg.Connection, settings: Settings, in_a_batch: bool
) -> None:
    customer, worker = await customers.a_customer(), await a_worker(owner)
    asked = (customer.account_id, customer.key_id, 1, 3, 1_000_000, 11, 60)
    other = await asyncpg.connect(settings.database_url, server_settings={"search_path": "tollkeeper"})
    async with owner.transaction():
        await owner.execute("select from account_books where account_id = $1 for update", customer.account_id)
        if in_a_batch:
            asking = other.fetch(BATCH, worker, [UUID(int=5)], [0], *([value] for value in asked))
        else:
            asking = other.fetch(ONE, worker, UUID(int=5), *asked)
        waiting = asyncio.create_task(asking)
        while not await owner.fetchval(BLOCKED, other.get_server_pid()):
            assert not waiting.done()
        await owner.execute("update worker set ended_at = now() where id = $1", worker)
    with pytest.raises(asyncpg.PostgresError, match="is over"):
        await waiting
    await other.close()


@pytest.mark.parametrize(("amount", "input_units", "seconds"), [(-1, 0, 0), (0, -1, 0), (0, 0, -1), (None, 0, 0)])
async def test_less_than_nothing_is_refused(
    owner: asyncpg.Connection, amount: int | None, input_units: int, seconds: int
) -> None:
    worker = await a_worker(owner)
    with pytest.raises(asyncpg.InvalidParameterValueError):
        await owner.fetch(ONE, worker, UUID(int=1), 1, 1, amount, 1, 1, input_units, seconds)


async def test_a_worker_whose_life_is_over_holds_nothing(owner: asyncpg.Connection) -> None:
    worker = await a_worker(owner)
    await owner.execute("update worker set fenced_at = now() where id = $1", worker)
    with pytest.raises(asyncpg.PostgresError, match="is over") as refused:
        await owner.fetch(ONE, worker, UUID(int=1), 1, 1, 1, 1, 1, 1, 1)
    assert refused.value.sqlstate == "TK001"
