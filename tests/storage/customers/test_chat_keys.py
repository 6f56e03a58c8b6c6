"""Keys of the console's chat: one for each session that is open, ended with it, and given on."""

import os
from collections.abc import AsyncIterator
from datetime import timedelta

import asyncpg
import pytest

from tests.customers import Customers
from tollkeeper.accounts.people.sessions import owner as actor_of
from tollkeeper.app.database import opened
from tollkeeper.core.people.logins import Role, SessionRecord
from tollkeeper.ports import KeyText
from tollkeeper.ports.customers.chat import ChatKeyStanding
from tollkeeper.settings import Settings
from tollkeeper.storage.customers.chat_keys import SqlChatKeys
from tollkeeper.storage.people.sessions import SqlSessions
from tollkeeper.storage.postgres.database import Database, DatabaseRole

LOGIN = "insert into login (account_id, email, person, password) values ($1, $2, $3, '$argon2id$x')"
SESSION = """
insert into session (digest, account_id, expires_at, ip, agent)
values ($1, $2, ledger_now() + $3::interval, '', '') returning id, created_at, expires_at
"""


@pytest.fixture
async def console(settings: Settings) -> AsyncIterator[Database]:
    async with opened(settings, DatabaseRole.CONSOLE) as database:
        yield database


class Bench:
    """An account with sessions, and what its chat does."""

    def __init__(self, owner: asyncpg.Connection, console: Database, account_id: int) -> None:
        self.owner, self.account_id = owner, account_id
        self.keys, self.sessions = SqlChatKeys(console), SqlSessions(console)

    async def session(self, lasts: timedelta = timedelta(days=1), account_id: int | None = None) -> SessionRecord:
        row = await self.owner.fetchrow(SESSION, os.urandom(32), account_id or self.account_id, lasts)
        return SessionRecord(
            session_id=row["id"],
            account_id=self.account_id,
            role=Role.CUSTOMER,
            created_at=row["created_at"],
            last_seen_at=row["created_at"],
            expires_at=row["expires_at"],
            ip="",
            agent="",
            second_factor_at=None,
            revoked_at=None,
            has_second_factor=False,
            account_disabled=False,
        )

    async def open(self, session: SessionRecord, digest: bytes | None = None) -> ChatKeyStanding | None:
        text = KeyText(1, digest or os.urandom(32), "sk-a…abcd")
        return await self.keys.open(session, text, "Chat in the console", lasts_seconds=900)

    async def end(self, session: SessionRecord) -> None:
        assert await self.sessions.revoke(self.account_id, session.session_id, actor=actor_of(self.account_id))

    async def is_revoked(self, key_id: int) -> bool:
        return bool(await self.owner.fetchval("select revoked_at is not null from api_key where id = $1", key_id))


async def an_account(owner: asyncpg.Connection, customers: Customers) -> int:
    account_id = (await customers.a_customer()).account_id
    await owner.execute(LOGIN, account_id, f"{account_id}@people.example", os.urandom(32))
    return account_id


@pytest.fixture
async def bench(owner: asyncpg.Connection, console: Database, customers: Customers) -> Bench:
    return Bench(owner, console, await an_account(owner, customers))


async def test_a_session_has_one_key_which_ends_with_it_and_the_next_session_has_it_again(bench: Bench) -> None:
    one, digest = await bench.session(), os.urandom(32)
    first, again = await bench.open(one, digest), await bench.open(one, digest)
    assert first is not None
    assert first == again
    await bench.end(one)
    assert await bench.is_revoked(first.key_id)
    assert await bench.open(one) is None, "the session is over"
    assert await bench.open(await bench.session()) == first
    assert not await bench.is_revoked(first.key_id)


async def test_sessions_that_are_open_together_have_keys_of_their_own(bench: Bench) -> None:
    found = [await bench.open(await bench.session()) for _ in range(3)]
    assert len({each.key_id for each in found if each is not None}) == 3


async def test_a_key_whose_session_was_cleared_away_is_given_on(bench: Bench) -> None:
    over = await bench.session()
    first = await bench.open(over)
    await bench.owner.execute("delete from session where id = $1", over.session_id)
    assert await bench.open(await bench.session()) == first


async def test_another_accounts_session_has_no_key_here(bench: Bench, customers: Customers) -> None:
    others = await an_account(bench.owner, customers)
    assert await bench.open(await bench.session(account_id=others)) is None
    assert await bench.open(await bench.session(lasts=timedelta(seconds=-1))) is None


async def test_a_key_that_an_operator_revoked_stays_so_for_its_session(bench: Bench, customers: Customers) -> None:
    session = await bench.session()
    first = await bench.open(session)
    assert first is not None
    await customers.desk.keys.revoke(first.key_id, account_id=bench.account_id, actor="an operator")
    assert await bench.open(session) is None


async def test_the_same_text_is_written_once_until_half_its_time_is_over(bench: Bench) -> None:
    session, digest = await bench.session(), os.urandom(32)
    news = "select count(*) from change where kind = 'key'"
    await bench.open(session, digest)
    before = await bench.owner.fetchval(news)
    await bench.open(session, digest)
    assert await bench.owner.fetchval(news) == before
    await bench.owner.execute("update api_key set expires_at = ledger_now() + interval '7 minutes' where for_chat")
    await bench.open(session, digest)
    lasts = await bench.owner.fetchval("select expires_at - ledger_now() from api_key where for_chat")
    assert timedelta(minutes=14) < lasts <= timedelta(minutes=15)


async def test_while_quota_is_held_for_it_a_key_is_busy(bench: Bench) -> None:
    session = await bench.session()
    first = await bench.open(session)
    assert first is not None
    assert not first.is_busy
    await bench.owner.execute("update key_books set held = 1 where key_id = $1", first.key_id)
    busy = await bench.open(session)
    assert busy is not None
    assert busy.is_busy
