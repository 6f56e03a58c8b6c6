import asyncpg
import pytest

from tests.people import People
from tollkeeper.accounts.people.front_desk import RequestOrigin
from tollkeeper.accounts.people.sessions import (
    live_sessions,
    revoke_session,
    session_of,
    sign_out,
    sign_out_everywhere,
)
from tollkeeper.accounts.people.sign_in import Credentials, sign_in
from tollkeeper.core.people.logins import SessionOver


async def test_a_stolen_session_can_be_seen_and_ended(people: People, owner: asyncpg.Connection) -> None:
    person = await people.a_person()
    mine = await people.sign_in(person, ip="192.0.2.7")
    thiefs = await people.sign_in(person, ip="198.51.100.9")
    listed = await live_sessions(people.desk, person.account_id)
    assert [(each.session_id, each.ip) for each in listed] == [
        (thiefs.session_id, "198.51.100.9"),
        (mine.session_id, "192.0.2.7"),
    ]
    session = await session_of(people.desk, mine.token)
    assert await revoke_session(people.desk, session, thiefs.session_id)
    assert not await revoke_session(people.desk, session, thiefs.session_id)
    with pytest.raises(SessionOver):
        await session_of(people.desk, thiefs.token)
    await session_of(people.desk, mine.token)
    told = await owner.fetchrow("select action, subject from audit order by id desc limit 1")
    assert tuple(told) == ("login.revoke_session", f"account:{person.account_id}")


async def test_nobody_ends_the_session_of_another(people: People) -> None:
    person, other = await people.a_person(), await people.a_person()
    signed_in = await people.sign_in(person)
    others = await session_of(people.desk, (await people.sign_in(other)).token)
    assert not await revoke_session(people.desk, others, signed_in.session_id)
    await session_of(people.desk, signed_in.token)


async def test_signing_out_ends_one_session_and_signing_out_everywhere_ends_all(people: People) -> None:
    person = await people.a_person()
    first, second, third = [await people.sign_in(person) for _ in range(3)]
    await sign_out(people.desk, await session_of(people.desk, first.token))
    with pytest.raises(SessionOver):
        await session_of(people.desk, first.token)
    session = await session_of(people.desk, third.token)
    assert await sign_out_everywhere(people.desk, session, stay_here=True) == 1
    with pytest.raises(SessionOver):
        await session_of(people.desk, second.token)
    await session_of(people.desk, third.token)
    assert await sign_out_everywhere(people.desk, session, stay_here=False) == 1
    assert await live_sessions(people.desk, person.account_id) == []


@pytest.mark.parametrize(
    "change",
    ["expires_at = now()", "last_seen_at = now() - interval '7 days'", "revoked_at = now()"],
    ids=["too old", "idle for too long", "revoked"],
)
async def test_a_session_ends(people: People, owner: asyncpg.Connection, change: str) -> None:
    person = await people.a_person()
    token = (await people.sign_in(person)).token
    await owner.execute(f"update session set {change}")  # noqa: S608
    with pytest.raises(SessionOver):
        await session_of(people.desk, token)
    assert await live_sessions(people.desk, person.account_id) == []


async def test_a_session_that_is_used_is_seen_and_written_once_a_minute(
    people: People, owner: asyncpg.Connection
) -> None:
    person = await people.a_person()
    token = (await people.sign_in(person)).token
    first = await owner.fetchval("select last_seen_at from session")
    await session_of(people.desk, token)
    assert await owner.fetchval("select last_seen_at from session") == first
    await owner.execute("update session set last_seen_at = now() - interval '6 days'")
    await session_of(people.desk, token)
    assert await owner.fetchval("select last_seen_at > now() - interval '1 minute' from session")


@pytest.mark.parametrize("token", ["", "x", "a" * 43, "\ud800" * 43])
async def test_what_is_no_token_is_no_session(people: People, token: str) -> None:
    with pytest.raises(SessionOver):
        await session_of(people.desk, token)


async def test_a_browser_may_call_itself_anything_and_only_what_can_be_read_is_kept(people: People) -> None:
    person = await people.a_person()
    given = Credentials(email=person.email, password=person.password)
    for agent in ("a\x1b[2J\r\nb\x00\u202e \ud800c", "x" * 500):
        await sign_in(people.desk, given, RequestOrigin(agent=agent))
    assert [each.agent for each in await live_sessions(people.desk, person.account_id)] == ["x" * 200, "a[2Jb c"]


async def test_a_sign_in_from_somewhere_new_is_told_unless_its_owner_does_not_want_that(
    people: People, owner: asyncpg.Connection
) -> None:
    person = await people.a_person()

    async def told_after(ip: str) -> int:
        await people.sign_in(person, ip=ip)
        await people.postman.round()
        return people.mailbox.subjects(person.email).count("A sign-in from somewhere new")

    assert await told_after("198.51.100.7") == 0
    assert await told_after("198.51.100.8") == 0
    assert await told_after("203.0.113.9") == 1
    assert "203.0.113.9" in people.mailbox.texts(person.email)[-1]
    assert await told_after("203.0.113.9") == 1
    await owner.execute(
        "insert into notice_choice (account_id, low_balance, lot_expiring, price_change, new_sign_in)"
        " values ($1, true, true, true, false)",
        person.account_id,
    )
    assert await told_after("192.0.2.1") == 1
