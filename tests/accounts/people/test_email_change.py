"""Another e-mail: nothing changes before its link is redeemed, and nobody learns who has an account."""

import asyncio

import asyncpg
import pytest

from tests.people import People, Person, an_email, until_waiting
from tollkeeper.accounts.people.email_change import look_at_email_change, redeem_email_change, request_email_change
from tollkeeper.accounts.people.front_desk import RequestOrigin
from tollkeeper.accounts.people.passwords import change_password, request_reset, reset_password
from tollkeeper.accounts.people.second_factor import OwnerProof
from tollkeeper.accounts.people.sessions import session_of
from tollkeeper.core.people.emails import NotAnEmail
from tollkeeper.core.people.faucet import person_digest
from tollkeeper.core.people.logins import (
    AccountThere,
    EmailUnchanged,
    LinkNotValid,
    SecondFactorNeeded,
    SessionOver,
    SessionRecord,
    TooManyAttempts,
    WrongCode,
    WrongCredentials,
)


async def a_session(people: People, person: Person) -> SessionRecord:
    return await session_of(people.desk, (await people.sign_in(person)).token)


async def ask(people: People, person: Person, email: str, session: SessionRecord | None = None) -> None:
    """As far as the mail."""
    session = session or await a_session(people, person)
    await request_email_change(people.desk, session, email, OwnerProof(person.password), RequestOrigin())
    await people.postman.round()


async def email_of(owner: asyncpg.Connection, person: Person) -> str:
    email: str = await owner.fetchval("select email from login where account_id = $1", person.account_id)
    return email


async def test_an_e_mail_changes_when_its_link_is_redeemed_and_not_before(
    people: People, owner: asyncpg.Connection
) -> None:
    person, new = await people.a_person(), an_email()
    mine, other = (await people.sign_in(person)).token, (await people.sign_in(person)).token
    session = await session_of(people.desk, mine)
    await ask(people, person, f" {new.upper()} ", session)
    assert people.mailbox.subjects(person.email)[-1] == "Your account is to have another e-mail"
    assert "change your password at once" in people.mailbox.texts(person.email)[-1]
    assert new not in people.mailbox.texts(person.email)[-1]
    link = people.mailbox.last_token(new)
    assert "/security/email/confirm?token=" in people.mailbox.texts(new)[-1]
    assert (await look_at_email_change(people.desk, link)).email == new
    assert await email_of(owner, person) == person.email
    await session_of(people.desk, other)

    await redeem_email_change(people.desk, link, session)
    assert await email_of(owner, person) == new
    person_is = await owner.fetchval("select person from login where account_id = $1", person.account_id)
    assert person_is == person_digest(new)
    await session_of(people.desk, mine)
    with pytest.raises(SessionOver):
        await session_of(people.desk, other)
    with pytest.raises(WrongCredentials):
        await people.sign_in(person)
    await people.sign_in(Person(person.account_id, new, person.password))
    await people.postman.round()
    assert people.mailbox.subjects(person.email)[-1] == "Your account has another e-mail"
    rows = await owner.fetch("select actor, action, detail from audit order by id desc limit 2")
    who = f"account:{person.account_id}"
    assert [tuple(row) for row in rows] == [
        (who, "login.change_email", '{"sessions": 1}'),
        (who, "login.ask_email_change", "{}"),
    ]


async def test_a_link_redeemed_elsewhere_ends_every_session(people: People) -> None:
    person, stranger, new = await people.a_person(), await people.a_person(), an_email()
    token = (await people.sign_in(person)).token
    await ask(people, person, new)
    elses = await a_session(people, stranger)
    await redeem_email_change(people.desk, people.mailbox.last_token(new), elses)
    with pytest.raises(SessionOver):
        await session_of(people.desk, token)
    await people.sign_in(stranger)


async def test_it_takes_the_password_and_the_second_factor(people: People, owner: asyncpg.Connection) -> None:
    person, new = await people.a_person(), an_email()
    enrolled = await people.enrol(person)
    session = await session_of(people.desk, enrolled.token)

    async def refused(proof: OwnerProof) -> str:
        with pytest.raises((WrongCredentials, SecondFactorNeeded, WrongCode)) as refusal:
            await request_email_change(people.desk, session, new, proof, RequestOrigin())
        return refusal.typename

    assert await refused(OwnerProof("wrong horse battery", enrolled.code())) == "WrongCredentials"
    assert await refused(OwnerProof(person.password)) == "SecondFactorNeeded"
    assert await refused(OwnerProof(person.password, "000000")) == "WrongCode"
    assert await owner.fetchval("select count(*) from email_change") == 0
    proof = OwnerProof(person.password, enrolled.code())
    await request_email_change(people.desk, session, new, proof, RequestOrigin())
    assert await owner.fetchval("select count(*) from email_change") == 1


async def test_the_password_cannot_be_guessed_from_a_stolen_session(people: People) -> None:
    person = await people.a_person()
    session = await a_session(people, person)
    for _ in range(5):
        with pytest.raises(WrongCredentials):
            await request_email_change(people.desk, session, an_email(), OwnerProof("wrong"), RequestOrigin())
    with pytest.raises(TooManyAttempts):
        await request_email_change(people.desk, session, an_email(), OwnerProof(person.password), RequestOrigin())


async def test_an_e_mail_that_is_no_change_or_none_is_refused(people: People) -> None:
    person = await people.a_person()
    with pytest.raises(EmailUnchanged):
        await ask(people, person, person.email.upper())
    with pytest.raises(NotAnEmail):
        await ask(people, person, "nobody")


async def test_an_e_mail_that_has_an_account_is_told_to_its_owner_alone(
    people: People, owner: asyncpg.Connection
) -> None:
    person, known = await people.a_person(), await people.a_person()
    await ask(people, person, known.email)
    assert people.mailbox.subjects(known.email)[-1] == "This e-mail has an account already"
    assert "token=" not in people.mailbox.texts(known.email)[-1]
    assert await owner.fetchval("select count(*) from mail_token where purpose = 'email_change'") == 0
    # As where nobody has it.
    assert people.mailbox.subjects(person.email)[-1] == "Your account is to have another e-mail"
    assert await email_of(owner, known) == known.email


async def test_nobody_else_gets_the_present_e_mail_meanwhile(people: People, owner: asyncpg.Connection) -> None:
    person, other, new = await people.a_person(), await people.a_person(), an_email()
    await ask(people, person, new)
    await ask(people, other, person.email)
    assert people.mailbox.subjects(person.email)[-1] == "This e-mail has an account already"
    await people.sign_up(person.email)
    assert people.mailbox.subjects(person.email)[-1] == "You have an account already"
    assert await email_of(owner, person) == person.email


async def test_of_two_accounts_that_want_one_e_mail_the_first_to_redeem_has_it(
    people: People, owner: asyncpg.Connection
) -> None:
    one, two, new = await people.a_person(), await people.a_person(), an_email()
    await ask(people, one, new)
    first = people.mailbox.last_token(new)
    await ask(people, two, new)
    second = people.mailbox.last_token(new)
    await redeem_email_change(people.desk, second, None)
    with pytest.raises(AccountThere):
        await redeem_email_change(people.desk, first, None)
    assert [await email_of(owner, one), await email_of(owner, two)] == [one.email, new]


async def test_a_link_is_good_once_also_when_it_is_sent_twice_at_once(
    people: People, owner: asyncpg.Connection
) -> None:
    person, new = await people.a_person(), an_email()
    await ask(people, person, new)
    link = people.mailbox.last_token(new)
    async with owner.transaction():
        await owner.execute("select from login for update")
        both = asyncio.gather(*(redeem_email_change(people.desk, link, None) for _ in range(2)), return_exceptions=True)
        await until_waiting(owner, 2)
    assert sorted(type(answer).__name__ for answer in await both) == ["EmailChange", "LinkNotValid"]
    assert await owner.fetchval("select count(*) from audit where action = 'login.change_email'") == 1


async def test_a_new_password_ends_the_link(people: People, owner: asyncpg.Connection) -> None:
    """What the warning tells the owner to do."""
    person, new = await people.a_person(), an_email()
    session = await a_session(people, person)
    await ask(people, person, new, session)
    await change_password(people.desk, session, person.password, "quite another password")
    with pytest.raises(LinkNotValid):
        await redeem_email_change(people.desk, people.mailbox.last_token(new), None)
    assert await email_of(owner, person) == person.email


async def test_a_mail_that_still_waits_when_the_password_changes_is_not_sent(people: People) -> None:
    person, new = await people.a_person(), an_email()
    session = await a_session(people, person)
    await request_email_change(people.desk, session, new, OwnerProof(person.password), RequestOrigin())
    await change_password(people.desk, session, person.password, "quite another password")
    await people.postman.round()
    assert people.mailbox.texts(new) == []


async def test_asking_again_ends_the_link_before(people: People, owner: asyncpg.Connection) -> None:
    person, first, second = await people.a_person(), an_email(), an_email()
    await ask(people, person, first)
    await ask(people, person, second)
    with pytest.raises(LinkNotValid):
        await redeem_email_change(people.desk, people.mailbox.last_token(first), None)
    await redeem_email_change(people.desk, people.mailbox.last_token(second), None)
    assert await email_of(owner, person) == second


async def test_a_link_is_over_after_a_day_and_for_a_disabled_account(people: People, owner: asyncpg.Connection) -> None:
    person, new = await people.a_person(), an_email()
    await ask(people, person, new)
    link = people.mailbox.last_token(new)
    lasts = await owner.fetchval("select expires_at - requested_at from email_change")
    assert lasts.total_seconds() == 86_400
    await owner.execute("update account set disabled_at = now() where id = $1", person.account_id)
    with pytest.raises(LinkNotValid):
        await redeem_email_change(people.desk, link, None)
    await owner.execute("update account set disabled_at = null where id = $1", person.account_id)
    await owner.execute("update mail_token set expires_at = now()")
    with pytest.raises(LinkNotValid):
        await redeem_email_change(people.desk, link, None)


async def test_links_for_a_new_password_in_the_former_mailbox_are_over(people: People) -> None:
    person, new = await people.a_person(), an_email()
    await ask(people, person, new)
    await request_reset(people.desk, person.email, RequestOrigin())
    await people.postman.round()
    reset = people.mailbox.last_token(person.email)
    await redeem_email_change(people.desk, people.mailbox.last_token(new), None)
    with pytest.raises(LinkNotValid):
        await reset_password(people.desk, reset, "quite another password")


async def test_nobodys_mailbox_is_flooded_and_the_answer_is_the_same(people: People) -> None:
    person, new = await people.a_person(), an_email()
    for _ in range(7):
        await ask(people, person, new)
    assert people.mailbox.subjects(new).count("Confirm your new e-mail") == 5
