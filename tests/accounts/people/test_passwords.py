import asyncio

import asyncpg
import msgspec
import pytest

from tests.people import People, Person, an_email, until_waiting
from tollkeeper.accounts.people.front_desk import RequestOrigin
from tollkeeper.accounts.people.passwords import change_password, request_reset, reset_password
from tollkeeper.accounts.people.sessions import live_sessions, session_of
from tollkeeper.core.people.logins import LinkNotValid, SessionOver, TooManyAttempts, WrongCode, WrongCredentials
from tollkeeper.core.people.passwords import BadPassword

NEW = "quite another password"


async def test_a_new_password_takes_the_old_one_and_ends_other_sessions(
    people: People, owner: asyncpg.Connection
) -> None:
    person = await people.a_person()
    mine, others = (await people.sign_in(person)).token, (await people.sign_in(person)).token
    session = await session_of(people.desk, mine)
    with pytest.raises(WrongCredentials, match="Nothing was changed"):
        await change_password(people.desk, session, "wrong horse battery", NEW)
    with pytest.raises(BadPassword):
        await change_password(people.desk, session, person.password, "password123")
    await session_of(people.desk, others)

    await change_password(people.desk, session, person.password, NEW)
    await session_of(people.desk, mine)
    with pytest.raises(SessionOver):
        await session_of(people.desk, others)
    with pytest.raises(WrongCredentials):
        await people.sign_in(person)
    await people.sign_in(person, password=NEW)
    await people.postman.round()
    assert "Your password was changed" in people.mailbox.subjects(person.email)
    told = await owner.fetchrow("select action, detail from audit order by id desc limit 1")
    assert tuple(told) == ("login.change_password", '{"sessions": 1}')


async def test_the_old_password_cannot_be_guessed_from_a_stolen_session(people: People) -> None:
    person = await people.a_person()
    session = await session_of(people.desk, (await people.sign_in(person)).token)
    for _ in range(5):
        with pytest.raises(WrongCredentials):
            await change_password(people.desk, session, "wrong horse battery", NEW)
    with pytest.raises(TooManyAttempts):
        await change_password(people.desk, session, person.password, NEW)


async def test_a_link_by_mail_sets_a_new_password_once_and_ends_every_session(
    people: People, owner: asyncpg.Connection
) -> None:
    person = await people.a_person()
    token = (await people.sign_in(person)).token
    await request_reset(people.desk, person.email.upper(), RequestOrigin())
    await people.postman.round()
    link = people.mailbox.last_token(person.email)
    with pytest.raises(BadPassword):
        await reset_password(people.desk, link, "short")
    assert await reset_password(people.desk, link, NEW) == person.account_id
    with pytest.raises(SessionOver):
        await session_of(people.desk, token)
    with pytest.raises(LinkNotValid):
        await reset_password(people.desk, link, "yet another password")
    await people.sign_in(person, password=NEW)
    assert await owner.fetchval("select action from audit order by id desc limit 1") == "login.reset_password"


async def test_whoever_asks_for_more_links_than_are_sent_is_told_the_same(
    people: People, owner: asyncpg.Connection
) -> None:
    person = await people.a_person()
    # Mails of another purpose do not use up those that help.
    for _ in range(6):
        await people.sign_up(person.email)
    for _ in range(7):
        await request_reset(people.desk, person.email, RequestOrigin())
    await people.postman.round()
    assert people.mailbox.subjects(person.email).count("Choose a new password") == 5
    # The one who has the mailbox has a link that works as long as no other is sent.
    await reset_password(people.desk, people.mailbox.last_token(person.email), NEW)
    await owner.execute("update lockout set locked_until = now(), window_start = now() - interval '1 h'")
    await request_reset(people.desk, person.email, RequestOrigin())
    await people.postman.round()
    assert people.mailbox.subjects(person.email).count("Choose a new password") == 6


async def test_an_ip_that_has_many_mails_sent_is_told_to_stop(people: People) -> None:
    for n in range(25):
        await request_reset(people.desk, an_email(), RequestOrigin(ip=f"2001:db8::{n}"))
    with pytest.raises(TooManyAttempts):
        await request_reset(people.desk, an_email(), RequestOrigin(ip="2001:db8:0:0:ffff::1"))
    await request_reset(people.desk, an_email(), RequestOrigin(ip="2001:db8:0:1::1"))


async def test_a_link_sent_twice_at_once_counts_once(people: People, owner: asyncpg.Connection) -> None:
    person = await people.a_person()
    await request_reset(people.desk, person.email, RequestOrigin())
    await people.postman.round()
    link = people.mailbox.last_token(person.email)
    async with owner.transaction():
        await owner.execute("select from login for update")
        both = asyncio.gather(*(reset_password(people.desk, link, NEW) for _ in range(2)), return_exceptions=True)
        await until_waiting(owner, 2)
    assert sorted(type(answer).__name__ for answer in await both) == ["LinkNotValid", "int"]


async def test_using_one_link_ends_the_others(people: People) -> None:
    person = await people.a_person()
    for _ in range(2):
        await request_reset(people.desk, person.email, RequestOrigin())
        await people.postman.round()
    first, second = (text.partition("token=")[2][:43] for text in people.mailbox.texts(person.email)[-2:])
    await reset_password(people.desk, second, NEW)
    with pytest.raises(LinkNotValid):
        await reset_password(people.desk, first, NEW)


async def test_a_link_for_a_new_password_is_over_after_an_hour(people: People, owner: asyncpg.Connection) -> None:
    person = await people.a_person()
    await request_reset(people.desk, person.email, RequestOrigin())
    await people.postman.round()
    row = await owner.fetchrow("select expires_at - made_at as lasts from mail_token where purpose = 'reset'")
    assert row["lasts"].total_seconds() == 3_600
    await owner.execute("update mail_token set expires_at = now()")
    with pytest.raises(LinkNotValid):
        await reset_password(people.desk, people.mailbox.last_token(person.email), NEW)


async def test_the_link_of_a_sign_up_resets_nothing(people: People) -> None:
    person = await people.a_person()
    with pytest.raises(LinkNotValid):
        await reset_password(people.desk, people.mailbox.last_token(person.email), NEW)


async def test_who_has_no_login_gets_no_mail(people: People, owner: asyncpg.Connection) -> None:
    email = an_email()
    await request_reset(people.desk, email, RequestOrigin())
    assert await owner.fetchval("select count(*) from outbox") == 1
    assert await people.postman.round() == 0
    assert people.mailbox.texts(email) == []
    assert await owner.fetchval("select count(*) from mail_token") == 0


async def a_new_password(people: People, person: Person) -> Person:
    """By mail."""
    await request_reset(people.desk, person.email, RequestOrigin())
    await people.postman.round()
    await reset_password(people.desk, people.mailbox.last_token(person.email), NEW)
    return msgspec.structs.replace(person, password=NEW)


@pytest.mark.parametrize("kind", ["sign_in_of_email", "sign_in_of_email_from_ip"])
async def test_a_new_password_by_mail_lets_in_who_was_locked_out(
    people: People, owner: asyncpg.Connection, kind: str
) -> None:
    person, here, elsewhere = await people.a_person(), "192.0.2.7", "198.51.100.9"
    for _ in range(5):
        with pytest.raises(WrongCredentials):
            await people.sign_in(person, password="wrong horse battery", ip=here)
    if kind == "sign_in_of_email":
        # As a hundred failures would.
        await owner.execute("update lockout set locked_until = now() + interval '1 h' where kind = $1", kind)
    for ip in (here, elsewhere) if kind == "sign_in_of_email" else (here,):
        with pytest.raises(TooManyAttempts):
            await people.sign_in(person, ip=ip)
    person = await a_new_password(people, person)
    for ip in (here, elsewhere):
        await people.sign_in(person, ip=ip)
    assert len(await live_sessions(people.desk, person.account_id)) == 2


async def test_a_new_password_by_mail_forgives_nothing_but_wrong_passwords(people: People) -> None:
    person, other = await people.a_person(), await people.a_person()
    enrolled = await people.enrol(person)
    for n in range(5):
        with pytest.raises(WrongCode):
            await people.sign_in(person, code="000000", ip=f"198.51.100.{n}")
        with pytest.raises(WrongCredentials):
            await people.sign_in(other, password="wrong horse battery", ip="192.0.2.7")
    person = await a_new_password(people, person)
    with pytest.raises(TooManyAttempts):
        await people.sign_in(person, code=enrolled.code(), ip="203.0.113.1")
    with pytest.raises(TooManyAttempts):
        await people.sign_in(other, ip="192.0.2.7")
