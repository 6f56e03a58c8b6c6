"""Quota in, and what it looks like afterwards."""

import asyncpg
import pytest

from tests.customers import ACTOR, Customers
from tollkeeper.core.money.amounts import UNITS_PER_USD
from tollkeeper.core.money.balance import of_account, of_key
from tollkeeper.ports import AlreadyOnFile, NotOnFile
from tollkeeper.storage.customers.accounts import SqlBalances
from tollkeeper.storage.postgres.database import Database


async def test_a_credit_shows_in_both_balances(customers: Customers, database: Database) -> None:
    customer = await customers.a_customer(usd="2.5")
    standing = await SqlBalances(database).standing(customer.key_id)
    assert of_account(standing).remaining == of_key(standing).remaining == 2.5 * UNITS_PER_USD


async def test_the_same_source_id_is_credited_once(customers: Customers, database: Database) -> None:
    customer = await customers.a_customer(usd=None)
    lots = [await customers.credit(customer.account_id, "1", source_id="payment-7") for _ in range(3)]
    standing = await SqlBalances(database).standing(customer.key_id)
    assert len(set(lots)) == 1
    assert standing.free_lots == UNITS_PER_USD


async def test_a_source_id_used_for_something_else_is_refused(customers: Customers) -> None:
    customer = await customers.a_customer(usd=None)
    await customers.credit(customer.account_id, "1", source_id="payment-8")
    with pytest.raises(AlreadyOnFile, match="payment-8"):
        await customers.credit(customer.account_id, "2", source_id="payment-8")
    other = await customers.a_customer(usd=None)
    with pytest.raises(AlreadyOnFile):
        await customers.credit(other.account_id, "1", source_id="payment-8")


@pytest.mark.rule("S8.2")
@pytest.mark.parametrize("months", [9, 3], ids=["the current term", "the older term"])
async def test_the_term_is_calendar_months_and_stands_on_the_lot(
    customers: Customers, owner: asyncpg.Connection, months: int
) -> None:
    customer = await customers.a_customer(usd=None)
    lot = await customers.credit(customer.account_id, "1", months=months)
    row = await owner.fetchrow(
        "select term = make_interval(months => $2) as kept,"
        " expires_at = created_at + make_interval(months => $2) as dated from lot where id = $1",
        lot,
        months,
    )
    assert (row["kept"], row["dated"]) == (True, True)


async def test_expired_and_closed_lots_do_not_count(
    customers: Customers, database: Database, owner: asyncpg.Connection
) -> None:
    customer = await customers.a_customer(usd="1")
    expired = await customers.credit(customer.account_id, "2")
    closed = await customers.credit(customer.account_id, "4")
    await owner.execute("update lot set remaining = 0 where id = $1", closed)
    await owner.execute("update lot set expires_at = ledger_now() where id = $1", expired)
    await owner.execute("update lot set closed_at = ledger_now(), closed_as = 'expired' where id = $1", closed)
    assert (await SqlBalances(database).standing(customer.key_id)).free_lots == UNITS_PER_USD


async def test_a_lot_bound_to_a_key_counts_for_that_key_only(
    customers: Customers, database: Database, owner: asyncpg.Connection
) -> None:
    customer = await customers.a_customer(usd="1")
    lucky = await customers.a_key(customer.account_id)
    bound = await customers.credit(customer.account_id, "2")
    await owner.execute("update lot set key_id = $2 where id = $1", bound, lucky.key_id)

    mine, theirs = [await SqlBalances(database).standing(key.key_id) for key in (customer, lucky)]
    assert of_key(mine).remaining == UNITS_PER_USD
    assert of_key(theirs).remaining == 3 * UNITS_PER_USD
    assert of_account(mine) == of_account(theirs)
    assert of_account(mine).remaining == 3 * UNITS_PER_USD


async def test_what_does_not_exist_is_named(customers: Customers, database: Database) -> None:
    with pytest.raises(NotOnFile, match="account 77"):
        await customers.credit(77, "1")
    with pytest.raises(NotOnFile, match="group 'gold'"):
        await customers.a_customer(group="gold")
    with pytest.raises(NotOnFile, match="key 77"):
        await SqlBalances(database).standing(77)
    with pytest.raises(NotOnFile, match="key 77"):
        await customers.desk.keys.revoke(77, account_id=1, actor=ACTOR)


async def test_every_act_is_on_the_record_once(customers: Customers, owner: asyncpg.Connection) -> None:
    customer = await customers.a_customer(usd=None)
    for _ in range(2):
        await customers.credit(customer.account_id, "1", source_id="payment-9")
        await customers.desk.keys.revoke(customer.key_id, account_id=customer.account_id, actor=ACTOR)
    acts = [row["action"] for row in await owner.fetch("select action from audit order by id")]
    assert acts == ["account.create", "key.create", "account.credit", "key.revoke"]
