"""A part of the service that was taken over asks the database for more than its work needs: money that nobody signed
for, acts under somebody else's name, holds of less than nothing."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from tests.customers import ACTOR, Customer, Customers
from tests.storage.ledger.benches import an_order
from tollkeeper.settings import Settings
from tollkeeper.storage.ledger.books import check_books
from tollkeeper.storage.postgres.database import Database, DatabaseRole

Session = Callable[[DatabaseRole], AbstractAsyncContextManager[asyncpg.Connection]]

LATEST = "select actor, action, subject, as_role, as_login from audit order by id desc limit 1"
HOLD = (
    "select verdict from hold_batch($1, array[$2::uuid], array[$3::smallint], array[$4::bigint], array[$5::bigint],"
    " array[$6::bigint], array[1::bigint], array[1000000::bigint], array[$7::bigint], array[600])"
)
# Rows that only the functions which do these things may write.
RESERVED = [
    "account.credit",
    "account.invited",
    "account.restrict",
    "code.redeem",
    "codes.make",
    "faucet.grant",
    "ip.ban",
    "login.role",
    "lot.extend",
    "lot.revoke",
    "operator_key.create",
    "operator_key.revoke",
    "price.enter",
    "provider.lift_suspension",
    "provider.suspend",
    "reward.revoke",
    "top_up.revoke",
    "withdrawal.pay",
]


@pytest.fixture
def session(settings: Settings) -> Session:
    """What somebody can say to the database who has taken over a part of the service."""

    @asynccontextmanager
    async def taken_over(part: DatabaseRole) -> AsyncIterator[asyncpg.Connection]:
        names = {"role": part.value, "search_path": "tollkeeper"}
        connection = await asyncpg.connect(settings.database_url, server_settings=names)
        try:
            yield connection
        finally:
            await connection.close()

    return taken_over


@pytest.fixture
async def customer(customers: Customers) -> Customer:
    await customers.a_model()
    return await customers.a_customer()


async def audit_rows(owner: asyncpg.Connection) -> int:
    count: int = await owner.fetchval("select count(*) from audit")
    return count


@pytest.mark.parametrize("part", DatabaseRole)
async def test_no_role_can_credit_an_account_without_a_row_in_the_audit_trail(
    session: Session, owner: asyncpg.Connection, customer: Customer, part: DatabaseRole
) -> None:
    lots = await owner.fetchval("select count(*) from lot")
    async with session(part) as connection:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute("select credit($1, null, 5, 'x', 'x', 1, 0)", customer.account_id)
    assert await owner.fetchval("select count(*) from lot") == lots


async def test_what_the_console_credits_extends_and_revokes_is_on_record_with_its_role(
    session: Session, owner: asyncpg.Connection, customer: Customer
) -> None:
    credit = "select lot_id from credit_on_record($1, null, 5, 'x', 'x', 1, 0, 'somebody else')"
    acts = {
        "lot.extend": "select extend_lot_on_record($1, now() + interval '1 year', 'why', 'somebody else')",
        "lot.revoke": "select revoke_lot_on_record($1, 'why', 'somebody else')",
    }
    async with session(DatabaseRole.CONSOLE) as connection:
        lot = await connection.fetchval(credit, customer.account_id)
        assert (await owner.fetchrow(LATEST))["action"] == "account.credit"
        for action, sql in acts.items():
            await connection.execute(sql, lot)
            row = await owner.fetchrow(LATEST)
            assert (row["action"], row["actor"]) == (action, "somebody else")
            # A name can be made up, these cannot.
            assert (row["as_role"], row["as_login"]) == ("tollkeeper_console", "tollkeeper")
        before = await audit_rows(owner)
        await connection.execute(credit, customer.account_id)
    # Replayed: nothing was credited, so nothing is told.
    assert await audit_rows(owner) == before


async def test_every_row_tells_the_role_that_wrote_it(
    settings: Settings, customers: Customers, customer: Customer, owner: asyncpg.Connection
) -> None:
    await customers.desk.accounts.disable(customer.account_id, "a reason", actor=ACTOR)
    rows = await owner.fetch("select distinct as_role from audit")
    assert [row["as_role"] for row in rows] == ["tollkeeper_console"]
    database = Database(settings.database_url, DatabaseRole.WORKER, connections=2, patience_seconds=20)
    await database.open()
    try:
        assert [verdict for verdict in await check_books(database) if verdict.findings] == []
        # Neither can be changed afterwards.
        await owner.execute("update audit set as_role = 'tollkeeper_worker' where id = 1")
        assert [verdict for verdict in await check_books(database) if verdict.findings] != []
    finally:
        await database.close()


async def test_rows_from_before_roles_were_told_keep_their_hashes(
    settings: Settings, owner: asyncpg.Connection
) -> None:
    await owner.execute(
        "insert into audit values (1, now(), 'a', 'b', 'c', '{}', sha256(''), null, null);"
        "update audit set hash = sha256(convert_to(jsonb_build_array("
        "id, at at time zone 'UTC' at time zone 'UTC', actor, action, subject, detail)::text, 'UTF8'))"
    )
    assert await owner.fetchval("select hash = audit_hash('', a) from audit a") is True


@pytest.mark.parametrize("action", RESERVED)
async def test_the_console_cannot_write_rows_about_what_it_did_not_do(
    session: Session, owner: asyncpg.Connection, action: str
) -> None:
    before = await audit_rows(owner)
    async with session(DatabaseRole.CONSOLE) as connection:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute("select put_on_record('somebody', $1, 'account:1', '{}')", action)
    assert await audit_rows(owner) == before


@pytest.mark.parametrize("actor", ["gateway", "worker", "abuse control"])
async def test_the_console_cannot_act_under_the_name_of_another_part(session: Session, actor: str) -> None:
    async with session(DatabaseRole.CONSOLE) as connection:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute("select put_on_record($1, 'account.disable', 'account:1', '{}')", actor)


@pytest.mark.parametrize("part", [DatabaseRole.GATEWAY, DatabaseRole.WORKER])
@pytest.mark.parametrize("function", ["append_audit", "put_on_record"])
async def test_neither_gateway_nor_worker_can_write_to_the_audit_trail(
    session: Session, part: DatabaseRole, function: str
) -> None:
    async with session(part) as connection:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(f"select {function}('an operator', 'account.disable', 'account:1', '{{}}')")


async def test_the_worker_lifts_suspensions_under_its_own_name_only(
    session: Session, owner: asyncpg.Connection
) -> None:
    account = await owner.fetchval(
        "insert into provider_account (name, vendor, base_url, key_envelope, suspended_at, suspended_because)"
        " values ('a', 'openai', 'https://example.com', '', now(), '401') returning id"
    )
    async with session(DatabaseRole.WORKER) as connection:
        await connection.execute("select lift_suspension($1, 'an operator')", account)
    row = await owner.fetchrow(LATEST)
    assert (row["actor"], row["action"], row["as_role"]) == ("worker", "provider.lift_suspension", "tollkeeper_worker")


@pytest.mark.parametrize(
    ("sequence", "amount", "input_tokens"),
    [(0, -5, 1), (1, -500, 1), (-1, 5, 1), (0, 5, -1), (0, None, 1), (None, 5, 1)],
    ids=["hold", "extension", "sequence", "input", "no_amount", "no_sequence"],
)
async def test_a_hold_of_less_than_nothing_changes_nothing(
    session: Session,
    owner: asyncpg.Connection,
    customer: Customer,
    sequence: int | None,
    amount: int | None,
    input_tokens: int,
) -> None:
    books = "select (select array_agg(l order by id) from lot l), (select array_agg(b) from account_books b),"
    books += " (select array_agg(b) from key_books b), (select array_agg(h) from hold h)"
    order = an_order(customer.account_id, customer.key_id, 1_000)
    whose = (order.account_id, order.key_id)
    async with session(DatabaseRole.GATEWAY) as connection:
        worker = await connection.fetchval("insert into worker (node) values ('taken over') returning id")
        assert await connection.fetchval(HOLD, worker, order.request_id, 0, *whose, 1_000, 1) == "admitted"
        before = await owner.fetchrow(books)
        request = order.request_id if sequence else uuid4()
        with pytest.raises(asyncpg.InvalidParameterValueError):
            await connection.fetch(HOLD, worker, request, sequence, *whose, amount, input_tokens)
        assert await owner.fetchrow(books) == before


BACKWARDS: dict[str, tuple[Any, ...]] = {
    "select close_lots($1, 1000)": (timedelta(days=-4_000),),
    "select fence_workers($1)": (timedelta(seconds=-60),),
    "select drop_old_holds(now() + $1::interval)": (timedelta(days=30),),
}


@pytest.mark.parametrize("sql", BACKWARDS)
async def test_times_that_have_not_come_are_refused(
    session: Session, owner: asyncpg.Connection, customer: Customer, sql: str
) -> None:
    async with session(DatabaseRole.WORKER) as connection:
        await connection.execute("insert into worker (node) values ('alive')")
        with pytest.raises(asyncpg.InvalidParameterValueError):
            await connection.execute(sql, *BACKWARDS[sql])
    assert await owner.fetchval("select count(*) from lot where closed_at is not null") == 0
    assert await owner.fetchval("select count(*) from worker where fenced_at is not null") == 0
    assert customer.account_id


async def test_quota_that_has_expired_already_cannot_be_credited(session: Session, customer: Customer) -> None:
    async with session(DatabaseRole.CONSOLE) as connection:
        with pytest.raises(asyncpg.InvalidParameterValueError):
            await connection.execute(
                "select credit_on_record($1, null, 5, 'x', 'x', -1, 0, 'somebody')", customer.account_id
            )
