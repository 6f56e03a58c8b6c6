"""Lots over time: they expire and are zeroed, support extends them, and a month's statement adds up."""

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import asyncpg
import msgspec
import pytest

from tests.customers import ACTOR, Customer, Customers
from tests.storage.customers.benches import Time, books_are_clean
from tests.storage.ledger.benches import RATE, a_settlement, an_order
from tests.storage.usage.benches import a_bench
from tollkeeper.accounts.money.lots import LotRefused, extend_lot
from tollkeeper.accounts.money.statement import MonthStatement, month_statement
from tollkeeper.app.database import opened
from tollkeeper.core.money.amounts import UNITS_PER_USD
from tollkeeper.core.money.balance import of_account
from tollkeeper.core.money.prices import Rate
from tollkeeper.core.request_id import uuid7
from tollkeeper.jobs.clean_usage_log import clean_usage_log
from tollkeeper.jobs.expire_lots import expire_lots
from tollkeeper.jobs.roll_up_usage import roll_up_usage
from tollkeeper.log_site.folder import FolderSite
from tollkeeper.ports import NotOnFile
from tollkeeper.settings import Settings
from tollkeeper.storage.customers.accounts import SqlBalances
from tollkeeper.storage.ledger.journal import Journal
from tollkeeper.storage.ledger.sql_ledger import SqlLedger
from tollkeeper.storage.ledger.treasury import SqlTreasury
from tollkeeper.storage.ledger.workers import register
from tollkeeper.storage.postgres.database import Database, DatabaseRole
from tollkeeper.storage.usage.rollups import SqlRollups


@pytest.fixture
async def worker(settings: Settings) -> AsyncIterator[Database]:
    async with opened(settings, DatabaseRole.WORKER) as database:
        yield database


@pytest.fixture
async def ledger(worker: Database, tmp_path: Path) -> AsyncIterator[SqlLedger]:
    worker_id = await register(worker, "test")
    ledger = SqlLedger(worker, worker_id, Journal(tmp_path / "journal", worker_id), patience_seconds=10)
    yield ledger
    await ledger.close()


@pytest.fixture
def passing(owner: asyncpg.Connection) -> Time:
    return Time(owner)


class Till:
    """Calls that are charged, of a model, at the time by the database."""

    def __init__(self, ledger: SqlLedger, owner: asyncpg.Connection, passing: Time) -> None:
        self._ledger = ledger
        self._owner = owner
        self._passing = passing
        self._calls = 0

    async def charge(self, customer: Customer, model: str, held: int, charged: int) -> None:
        price_id = await self._owner.fetchval("select id from price where model_id = $1", model)
        rate = Rate(msgspec.structs.replace(RATE.price, id=price_id), RATE.group)
        now = await self._passing.now()
        self._calls += 1
        request_id = uuid7(int(now.timestamp() * 1_000), self._calls.to_bytes(10))
        order = msgspec.structs.replace(an_order(customer.account_id, customer.key_id, held, request_id), rate=rate)
        await self._ledger.hold(order)
        await self._ledger.settle(a_settlement(order, charged))


@pytest.fixture
def till(ledger: SqlLedger, owner: asyncpg.Connection, passing: Time) -> Till:
    return Till(ledger, owner, passing)


@pytest.mark.rule("S8.1", "S8.2")
@pytest.mark.parametrize("months", [9, 3], ids=["the current term", "the older term"])
async def test_quota_expires_after_its_term_and_is_then_zeroed(
    customers: Customers, worker: Database, passing: Time, owner: asyncpg.Connection, settings: Settings, months: int
) -> None:
    customer = await customers.a_customer(usd=None)
    lot = await customers.credit(customer.account_id, "5", months=months)
    expires = await owner.fetchval("select expires_at from lot where id = $1", lot)
    balances = SqlBalances(worker)
    await passing.go_to(expires - timedelta(minutes=1))
    assert of_account(await balances.standing(customer.key_id)).remaining == 5 * UNITS_PER_USD
    await passing.go_to(expires)
    assert of_account(await balances.standing(customer.key_id)).remaining == 0
    # A day's grace, in which support can still extend it.
    await passing.go_to(expires + timedelta(hours=23, minutes=59))
    await expire_lots(SqlTreasury(worker))
    assert await owner.fetchval("select remaining from lot where id = $1", lot) == 5 * UNITS_PER_USD
    await passing.go_to(expires + timedelta(hours=24))
    await expire_lots(SqlTreasury(worker))
    assert await owner.fetchval("select remaining from lot where id = $1", lot) == 0
    entry = await owner.fetchrow("select kind, amount from entry where lot_id = $1", lot)
    assert tuple(entry) == ("expired", 5 * UNITS_PER_USD)
    assert await books_are_clean(settings)


async def test_support_extends_a_lot_with_a_reason_even_in_its_grace(
    customers: Customers, worker: Database, passing: Time, owner: asyncpg.Connection
) -> None:
    customer = await customers.a_customer(usd=None)
    lot = await customers.credit(customer.account_id, "5", months=1)
    desk = customers.desk.lots
    [found] = await desk.of_account(customer.account_id)
    await passing.go_to(found.expires_at + timedelta(hours=2))
    until = found.expires_at + timedelta(days=30)
    with pytest.raises(ValueError, match="Say why"):
        await extend_lot(lot, until, " ", desk, actor=ACTOR)
    await extend_lot(lot, until, "they were ill", desk, actor=ACTOR)
    assert of_account(await SqlBalances(worker).standing(customer.key_id)).remaining == 5 * UNITS_PER_USD
    told = await owner.fetchrow("select actor, subject, detail from audit where action = 'lot.extend'")
    assert (told["actor"], told["subject"]) == (ACTOR, f"lot:{lot}")
    detail = json.loads(told["detail"])
    assert (detail["reason"], detail["account"]) == ("they were ill", customer.account_id)
    with pytest.raises(LotRefused, match="later"):
        await extend_lot(lot, until, "twice", desk, actor=ACTOR)


async def test_a_lot_that_is_closed_or_would_end_in_the_past_is_not_extended(
    customers: Customers, worker: Database, passing: Time
) -> None:
    customer = await customers.a_customer(usd=None)
    lot = await customers.credit(customer.account_id, "5", months=1)
    desk = customers.desk.lots
    [found] = await desk.of_account(customer.account_id)
    await passing.go_to(found.expires_at + timedelta(hours=10))
    with pytest.raises(LotRefused, match="a time ahead"):
        await extend_lot(lot, found.expires_at + timedelta(hours=1), "an hour", desk, actor=ACTOR)
    await passing.pass_by(hours=20)
    await expire_lots(SqlTreasury(worker))
    with pytest.raises(LotRefused, match="closed"):
        await extend_lot(lot, found.expires_at + timedelta(days=30), "too late", desk, actor=ACTOR)
    with pytest.raises(NotOnFile, match="no lot 77"):
        await extend_lot(77, found.expires_at, "nobody's", desk, actor=ACTOR)
    with pytest.raises(NotOnFile, match="no account 77"):
        await desk.of_account(77)


def told(statement: MonthStatement) -> list[tuple[str, str, int, int]]:
    return [(line.item.value, line.detail, line.count, line.amount) for line in statement.lines]


async def test_a_months_statement_says_what_came_and_went_and_adds_up(
    customers: Customers, worker: Database, till: Till, passing: Time, owner: asyncpg.Connection, settings: Settings
) -> None:
    customer = await customers.a_customer(usd=None)
    cheap, dear = await customers.a_model(model_id="a-cheap-one"), await customers.a_model(model_id="a-dear-one")
    this_month = (await passing.now()).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    first = (this_month + timedelta(days=62)).replace(day=1)
    second = (first + timedelta(days=31)).replace(day=1)
    await passing.go_to(first - timedelta(days=20))
    await customers.credit(customer.account_id, "0.00002", months=1)
    await till.charge(customer, cheap, 4_000_000, 1_000_000)

    await passing.go_to(first + timedelta(days=1))
    await customers.credit(customer.account_id, "0.00001")
    await customers.credit(customer.account_id, "0.00001")
    await till.charge(customer, cheap, 2_000_000, 500_000)
    await till.charge(customer, cheap, 2_000_000, 1_500_000)
    await till.charge(customer, dear, 3_000_000, 3_000_000)
    await passing.go_to(first + timedelta(days=15))
    await expire_lots(SqlTreasury(worker))
    # More than there is: what is missing is owed.
    await till.charge(customer, dear, 1_000_000, 12_000_000)

    statements = customers.desk.statements
    before = await month_statement(customer.account_id, f"{first - timedelta(days=1):%Y-%m}", statements)
    found = await month_statement(customer.account_id, f"{first:%Y-%m}", statements)
    after = await month_statement(customer.account_id, f"{second:%Y-%m}", statements)
    assert (before.opening, before.closing) == (0, 9_000_000)
    assert told(before) == [("top-up", "", 1, 10_000_000), ("spent", "a-cheap-one", 1, -1_000_000)]
    assert (found.opening, found.closing) == (9_000_000, -2_000_000)
    assert told(found) == [
        ("top-up", "", 2, 10_000_000),
        ("expired", "", 1, -4_000_000),
        ("spent", "a-cheap-one", 2, -2_000_000),
        ("spent", "a-dear-one", 2, -15_000_000),
    ]
    assert (after.opening, told(after), after.closing) == (-2_000_000, [], -2_000_000)

    async def read_again() -> list[MonthStatement]:
        months = (first - timedelta(days=1), first, second)
        return [await month_statement(customer.account_id, f"{month:%Y-%m}", statements) for month in months]

    await passing.pass_by(hours=24)
    await roll_up_usage(SqlRollups(worker))
    assert await read_again() == [before, found, after]
    # As if a later day had been cleaned from the log: then calls are read from the ledger.
    await owner.execute("insert into usage_dropped values ($1, '')", (second + timedelta(days=80)).date())
    assert await read_again() == [before, found, after]

    for each in (before, found):
        assert each.opening + sum(line.amount for line in each.lines) == each.closing
    owed = await owner.fetchval("select debt from account_books where account_id = $1", customer.account_id)
    left = await owner.fetchval("select sum(remaining) from lot where account_id = $1", customer.account_id)
    assert (owed, left) == (2_000_000, 0)
    # What is owed is paid from what comes next, and the statement does not count that twice.
    await customers.credit(customer.account_id, "0.00001")
    again = await month_statement(customer.account_id, f"{first:%Y-%m}", statements)
    assert again.closing == 3_000_000
    assert again.opening + sum(line.amount for line in again.lines) == again.closing
    assert await books_are_clean(settings)


async def test_of_calls_that_are_no_longer_in_the_log_a_statement_still_tells_what_they_cost(
    customers: Customers, owner: asyncpg.Connection, settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / "site").mkdir()
    async with a_bench(settings, owner, customers, tmp_path / "journal") as bench:
        today = await bench.today()
        next_month = (today.replace(day=1) + timedelta(days=32)).replace(day=1)
        await bench.pass_days((next_month - today).days)
        customer = await customers.a_customer(usd="1")
        model, other = await customers.a_model(model_id="a-model"), await customers.a_model(model_id="another")
        month = f"{await bench.today():%Y-%m}"

        async def spent() -> list[tuple[str, str, int, int]]:
            found = await month_statement(customer.account_id, month, customers.desk.statements)
            assert found.closing == UNITS_PER_USD - 755
            assert found.opening + sum(line.amount for line in found.lines) == found.closing
            return told(found)[1:]

        await bench.call(customer, model, charged=700)
        await bench.call(customer, other, charged=5)
        await bench.pass_days(1)
        await bench.call(customer, model, charged=50)
        await bench.pass_days(1)
        await bench.roll_up()
        assert await spent() == [("spent", "a-model", 2, -750), ("spent", "another", 1, -5)]
        site, today = FolderSite(tmp_path / "site"), await bench.today()
        await clean_usage_log(bench.cleaning, site, today - timedelta(days=1))
        assert await spent() == [("spent", "a-model", 1, -50), ("spent", "calls no longer in the log", 2, -705)]
        await clean_usage_log(bench.cleaning, site, today)
        assert await spent() == [("spent", "calls no longer in the log", 3, -755)]
    assert await books_are_clean(settings)


async def test_an_account_that_does_not_exist_has_no_statement(customers: Customers) -> None:
    with pytest.raises(NotOnFile, match="no account 77"):
        await month_statement(77, "2026-10", customers.desk.statements)
