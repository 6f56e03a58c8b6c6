"""Closing an account: nobody gets in any more, the books stay, and the person is forgotten later."""

import asyncio
import json
from collections.abc import AsyncIterator

import asyncpg
import pytest

from tests.customers import Customers
from tests.people import AN_OPERATOR, People, Person, an_email
from tollkeeper.accounts.people.closing import close_account
from tollkeeper.accounts.people.second_factor import OwnerProof
from tollkeeper.accounts.people.sessions import session_of
from tollkeeper.accounts.people.sign_up import verify_sign_up
from tollkeeper.accounts.people.staff import enable_account
from tollkeeper.app.database import opened
from tollkeeper.app.office import office
from tollkeeper.app.parts import notifier_of
from tollkeeper.core.partner.plan import MicroUsd
from tollkeeper.core.people.logins import (
    AccountClosed,
    NotThisEmail,
    Role,
    RoleMissing,
    SecondFactorNeeded,
    SessionOver,
    WrongCredentials,
)
from tollkeeper.jobs.forget_closed_accounts import forget_closed_accounts
from tollkeeper.ports.partner import Decided, NewWithdrawal, Requested, WithdrawalState
from tollkeeper.settings import Settings
from tollkeeper.storage.customers.closing import SqlClosedAccounts, SqlClosings
from tollkeeper.storage.ledger.books import check_books
from tollkeeper.storage.postgres.database import Database, DatabaseRole


@pytest.fixture
async def closings(settings: Settings) -> AsyncIterator[SqlClosings]:
    notifier = notifier_of(settings)
    async with opened(settings, DatabaseRole.CONSOLE) as database:
        yield SqlClosings(database, notifier)
    await notifier.close()


@pytest.fixture
async def worker(settings: Settings) -> AsyncIterator[Database]:
    async with opened(settings, DatabaseRole.WORKER) as database:
        yield database


async def close(people: People, closings: SqlClosings, person: Person, *, code: str = "", token: str = "") -> None:
    session = await session_of(people.desk, token or (await people.sign_in(person)).token)
    await close_account(people.desk, closings, session, person.email, OwnerProof(person.password, code))


async def test_a_closed_account_lets_nobody_in_and_keeps_its_books(
    people: People, closings: SqlClosings, customers: Customers, worker: Database, owner: asyncpg.Connection
) -> None:
    person = await people.a_person()
    await customers.credit(person.account_id, "10")
    for _ in range(2):
        await customers.a_key(person.account_id)
    token = (await people.sign_in(person)).token
    before = await owner.fetch("select * from lot where account_id = $1", person.account_id)
    await close(people, closings, person)
    with pytest.raises(SessionOver):
        await session_of(people.desk, token)
    with pytest.raises(AccountClosed):
        await people.sign_in(person)
    with pytest.raises(WrongCredentials):
        await people.sign_in(person, password="wrong horse battery")
    keys = await owner.fetch("select revoked_at from api_key where account_id = $1", person.account_id)
    assert [row["revoked_at"] is not None for row in keys] == [True, True]
    assert await owner.fetch("select * from lot where account_id = $1", person.account_id) == before
    assert [check for check in await check_books(worker) if check.findings] == []
    told = await owner.fetchrow("select actor, action, detail from audit order by id desc limit 1")
    assert tuple(told)[:2] == (f"account:{person.account_id}", "account.close")
    assert json.loads(told["detail"]) == {"keys": 2, "sessions": 2}
    await people.postman.round()
    assert people.mailbox.subjects(person.email)[-1] == "Your account was closed"


async def test_closing_twice_at_once_is_closing_once(
    people: People, closings: SqlClosings, owner: asyncpg.Connection
) -> None:
    person = await people.a_person()
    answers = await asyncio.gather(*(closings.close(person.account_id, actor="a test") for _ in range(4)))
    assert sorted(answers) == [False, False, False, True]
    assert await owner.fetchval("select count(*) from audit where action = 'account.close'") == 1
    assert await owner.fetchval("select count(*) from outbox where kind = 'account_closed'") == 1


async def test_what_we_disabled_is_not_its_owners_to_close(
    people: People, closings: SqlClosings, owner: asyncpg.Connection
) -> None:
    person = await people.a_person()
    await owner.execute("update account set disabled_at = now() where id = $1", person.account_id)
    assert not await closings.close(person.account_id, actor="a test")
    assert await owner.fetchval("select closed_at from account where id = $1", person.account_id) is None


async def test_it_takes_the_e_mail_the_password_and_the_second_factor(
    people: People, closings: SqlClosings, owner: asyncpg.Connection
) -> None:
    person = await people.a_person()
    enrolled = await people.enrol(person)
    session = await session_of(people.desk, enrolled.token)
    with pytest.raises(NotThisEmail):
        await close_account(people.desk, closings, session, an_email(), OwnerProof(person.password, enrolled.code()))
    with pytest.raises(WrongCredentials):
        await close_account(people.desk, closings, session, person.email, OwnerProof("wrong", enrolled.code()))
    with pytest.raises(SecondFactorNeeded):
        await close_account(people.desk, closings, session, person.email, OwnerProof(person.password))
    assert await owner.fetchval("select count(*) from account where closed_at is not null") == 0
    await close(people, closings, person, code=enrolled.code(), token=enrolled.token)
    assert await owner.fetchval("select closed_at is not null from account where id = $1", person.account_id)


async def test_staff_lose_their_role_before_they_close(people: People, closings: SqlClosings) -> None:
    person = await people.a_person(role=Role.SUPPORT)
    enrolled = await people.enrol(person)
    with pytest.raises(RoleMissing):
        await close(people, closings, person, code=enrolled.code(), token=enrolled.token)


async def test_support_opens_it_again_and_keys_stay_revoked(
    people: People, closings: SqlClosings, customers: Customers, owner: asyncpg.Connection, worker: Database
) -> None:
    person = await people.a_person()
    await customers.a_key(person.account_id)
    await close(people, closings, person)
    desk = customers.desk
    assert await enable_account(people.desk, desk.accounts, person.account_id, "asked for", by=AN_OPERATOR)
    await people.sign_in(person)
    assert await owner.fetchval("select bool_and(revoked_at is not null) from api_key")
    await owner.execute("update account set closed_at = closed_at - interval '31 days'")
    assert await forget_closed_accounts(SqlClosedAccounts(worker)) == 0


async def test_cash_that_was_asked_for_before_closing_is_still_paid(
    people: People, closings: SqlClosings, settings: Settings, owner: asyncpg.Connection
) -> None:
    person = await people.a_person()
    await owner.execute(
        "insert into withdrawal (account_id, usd_micros, payee) values ($1, 0 + 1, 'a bank')", person.account_id
    )
    async with office(settings) as desk:
        number = await owner.fetchval("select id from withdrawal")
        await owner.execute("update account set disabled_at = now() where id = $1", person.account_id)
        decided = await desk.partners.decide(number, WithdrawalState.APPROVED, reason="fine", actor="a test")
        assert decided is Decided.ACCOUNT_DISABLED
        await owner.execute("update account set disabled_at = null where id = $1", person.account_id)
        await close(people, closings, person)
        decided = await desk.partners.decide(number, WithdrawalState.APPROVED, reason="fine", actor="a test")
        # There is no cash behind it here; that the account is closed is no hindrance.
        assert decided is Decided.SHORT
        wish = NewWithdrawal(account_id=person.account_id, usd_micros=MicroUsd(1), payee="a bank")
        asked = await desk.partners.withdraw(wish, actor="a test")
        assert asked.verdict is Requested.ACCOUNT_DISABLED


async def test_after_thirty_days_the_person_is_forgotten_and_the_books_are_not(
    people: People, closings: SqlClosings, customers: Customers, worker: Database, owner: asyncpg.Connection
) -> None:
    person, other = await people.a_person(), await people.a_person()
    await people.enrol(person)
    await people.enrol(other)
    await owner.execute(
        "insert into passkey (account_id, name, credential_id, public_key, user_handle, sign_count, transports)"
        " values ($1, 'phone', 'id', 'key', 'handle', 0, '{}')",
        person.account_id,
    )
    await customers.credit(person.account_id, "10")
    await customers.a_key(person.account_id)
    await closings.close(person.account_id, actor="a test")
    assert await forget_closed_accounts(SqlClosedAccounts(worker)) == 0
    past = "update account set closed_at = closed_at - interval '30 days' where closed_at is not null"
    await owner.execute(past)
    assert await forget_closed_accounts(SqlClosedAccounts(worker)) == 1
    assert await forget_closed_accounts(SqlClosedAccounts(worker)) == 0
    for table in ("login", "session", "recovery_code", "passkey"):
        kept = f"select count(*) from {table} where account_id = $1"  # noqa: S608 (names from above)
        assert await owner.fetchval(kept, person.account_id) == 0, table
    row = await owner.fetchrow("select name, closed_at from account where id = $1", person.account_id)
    assert (row["name"], row["closed_at"] is not None) == ("Closed account", True)
    assert await owner.fetchval("select count(*) from lot where account_id = $1", person.account_id) == 1
    assert [check for check in await check_books(worker) if check.findings] == []
    with pytest.raises(WrongCredentials):
        await people.sign_in(person)
    assert await owner.fetchval("select count(*) from login where account_id = $1", other.account_id) == 1

    # The e-mail is free again, for an account that has nothing of the old one.
    await people.sign_up(person.email)
    again = await verify_sign_up(people.desk, people.mailbox.last_token(person.email), person.password)
    assert again != person.account_id


async def test_many_are_forgotten_in_one_turn_a_few_at_a_time(
    people: People,
    closings: SqlClosings,
    worker: Database,
    owner: asyncpg.Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tollkeeper.storage.customers.closing.AT_ONCE_MOST", 1)
    for person in [await people.a_person() for _ in range(3)]:
        await closings.close(person.account_id, actor="a test")
    await owner.execute("update account set closed_at = closed_at - interval '30 days' where closed_at is not null")
    assert await forget_closed_accounts(SqlClosedAccounts(worker)) == 3
