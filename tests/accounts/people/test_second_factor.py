import asyncio
import secrets

import asyncpg
import pyotp
import pytest

from tests.people import AN_OPERATOR, People, until_waiting
from tollkeeper.accounts.people.factor_resets import ask_for_reset
from tollkeeper.accounts.people.front_desk import RequestOrigin
from tollkeeper.accounts.people.passwords import request_reset, reset_password
from tollkeeper.accounts.people.second_factor import (
    FrontDeskSecondFactor,
    confirm_second_factor,
    propose_second_factor,
    require_second_factor,
    turn_off_second_factor,
)
from tollkeeper.accounts.people.sessions import session_of
from tollkeeper.core.people.logins import (
    SecondFactorMissing,
    SecondFactorNeeded,
    SecondFactorThere,
    SessionOver,
    SessionRecord,
    TooManyAttempts,
    WrongCode,
    WrongCredentials,
)
from tollkeeper.ports.factor_resets import FactorKind
from tollkeeper.ports.people import Confirmation


async def test_a_second_factor_counts_once_it_is_confirmed(people: People, owner: asyncpg.Connection) -> None:
    person = await people.a_person()
    signed_in, other = await people.sign_in(person), await people.sign_in(person)
    session = await session_of(people.desk, signed_in.token)
    proposal = await propose_second_factor(people.desk, session, person.password)
    assert "otpauth://totp/" in proposal.link
    await people.sign_in(person)
    with pytest.raises(WrongCode):
        await confirm_second_factor(people.desk, session, "000000")

    enrolled = await people.enrol(person)
    with pytest.raises(SecondFactorNeeded):
        await people.sign_in(person)
    await people.sign_in(person, code=enrolled.code())
    with pytest.raises(SessionOver):
        await session_of(people.desk, other.token)
    assert await owner.fetchval("select count(*) from audit where action = 'login.second_factor_on'") == 1
    with pytest.raises(SecondFactorThere):
        await propose_second_factor(people.desk, await session_of(people.desk, enrolled.token), person.password)
    await people.postman.round()
    assert "Your second factor was turned on" in people.mailbox.subjects(person.email)


async def test_an_open_session_does_not_suffice_to_set_one_up(people: People, owner: asyncpg.Connection) -> None:
    person = await people.a_person()
    session = await session_of(people.desk, (await people.sign_in(person)).token)
    for _ in range(5):
        with pytest.raises(WrongCredentials):
            await propose_second_factor(people.desk, session, "wrong horse battery")
    with pytest.raises(TooManyAttempts):
        await propose_second_factor(people.desk, session, person.password)
    assert await owner.fetchval("select totp_sealed from login") is None


async def test_of_two_confirmations_at_once_one_wins(people: People, owner: asyncpg.Connection) -> None:
    person = await people.a_person()
    session = await session_of(people.desk, (await people.sign_in(person)).token)
    proposal = await propose_second_factor(people.desk, session, person.password)
    code = pyotp.TOTP(proposal.secret).now()
    async with owner.transaction():
        await owner.execute("select from login for update")
        both = asyncio.gather(
            *(people.desk.second_factors.confirm(a_confirmation(session, code)) for _ in range(2)),
        )
        await until_waiting(owner, 2)
    assert sorted(await both) == [False, True]
    assert await owner.fetchval("select count(*) from recovery_code") == 2
    assert await owner.fetchval("select count(*) from audit where action = 'login.second_factor_on'") == 1


async def test_the_time_since_which_it_is_on_begins_anew_when_it_is_set_up_again(
    people: People, owner: asyncpg.Connection
) -> None:
    person = await people.a_person()
    enrolled = await people.enrol(person)
    await owner.execute("update login set totp_confirmed_at = now() - interval '100 h'")
    session = await session_of(people.desk, enrolled.token)
    await turn_off_second_factor(people.desk, session, enrolled.code())
    assert await owner.fetchval("select totp_confirmed_at from login") is None
    await people.enrol(person)
    assert await owner.fetchval("select totp_confirmed_at > now() - interval '1 minute' from login")


async def test_the_session_that_sets_it_up_goes_on_under_another_token(people: People) -> None:
    person = await people.a_person()
    before = await people.sign_in(person)
    session = await session_of(people.desk, before.token)
    enrolled = await people.enrol(person)
    after = await session_of(people.desk, enrolled.token)
    assert after.second_factor_at is not None
    assert enrolled.token != before.token
    with pytest.raises(SessionOver):
        await session_of(people.desk, before.token)
    assert after.account_id == session.account_id


async def test_a_code_is_used_once_however_often_it_is_sent_at_once(people: People) -> None:
    person = await people.a_person()
    enrolled = await people.enrol(person)
    code = enrolled.code()
    check = FrontDeskSecondFactor(people.desk).check
    answers = await asyncio.gather(*(check(person.account_id, code) for _ in range(4)))
    assert sorted(answers) == [False, False, False, True]
    assert not await check(person.account_id, enrolled.spent_code)


async def test_ten_recovery_codes_work_once_each(people: People, owner: asyncpg.Connection) -> None:
    person = await people.a_person()
    enrolled = await people.enrol(person)
    assert len(set(enrolled.recovery_codes)) == 10
    stored = str([dict(row) for row in await owner.fetch("select * from recovery_code")])
    assert not any(code in stored for code in enrolled.recovery_codes)
    first, *others = enrolled.recovery_codes
    answers = await asyncio.gather(*(people.sign_in(person, code=first) for _ in range(3)), return_exceptions=True)
    assert sorted(type(each).__name__ for each in answers) == ["SignedIn", "WrongCode", "WrongCode"]
    for code in others:
        await require_second_factor(people.desk, person.account_id, code.lower().replace("-", " "))
    with pytest.raises(WrongCode):
        await require_second_factor(people.desk, person.account_id, others[0])


@pytest.mark.parametrize(
    "code",
    [
        "000000",
        "12345",
        "abcdef",
        "",
        "\N{ARABIC-INDIC DIGIT ZERO}" * 6,
        "2222-2222-2222-2222",
        "\ud800" * 6,
        "9" * 999,
    ],
)
async def test_what_is_no_code_is_refused(people: People, code: str) -> None:
    person = await people.a_person()
    enrolled = await people.enrol(person)
    assert code != enrolled.code()
    with pytest.raises(WrongCode):
        await require_second_factor(people.desk, person.account_id, code)


async def test_codes_cannot_be_guessed(people: People) -> None:
    person = await people.a_person()
    enrolled = await people.enrol(person)
    check = FrontDeskSecondFactor(people.desk).check
    for _ in range(5):
        assert not await check(person.account_id, "000000")
    with pytest.raises(TooManyAttempts):
        await check(person.account_id, enrolled.code())
    with pytest.raises(TooManyAttempts):
        await people.sign_in(person, code=enrolled.code(), ip="192.0.2.7")


async def test_what_needs_a_second_factor_is_refused_without_one(people: People) -> None:
    person = await people.a_person()
    with pytest.raises(SecondFactorMissing):
        await require_second_factor(people.desk, person.account_id, "123456")
    assert not await FrontDeskSecondFactor(people.desk).check(person.account_id, "123456")
    assert not await FrontDeskSecondFactor(people.desk).check(999, "123456")


async def test_it_is_turned_off_with_a_last_code_and_its_owner_is_told(
    people: People, owner: asyncpg.Connection
) -> None:
    person = await people.a_person()
    enrolled = await people.enrol(person)
    session = await session_of(people.desk, enrolled.token)
    with pytest.raises(WrongCode):
        await turn_off_second_factor(people.desk, session, "000000")
    other = await people.sign_in(person, code=enrolled.recovery_codes[0])
    await turn_off_second_factor(people.desk, session, enrolled.code())
    await session_of(people.desk, enrolled.token)
    with pytest.raises(SessionOver):
        await session_of(people.desk, other.token)
    await people.sign_in(person)
    await people.postman.round()
    assert "Your second factor was turned off" in people.mailbox.subjects(person.email)
    assert await owner.fetchval("select count(*) from recovery_code") == 0
    assert await owner.fetchval("select action from audit order by id desc limit 1") == "login.second_factor_off"


async def test_support_drops_it_for_who_lost_everything(people: People, owner: asyncpg.Connection) -> None:
    person = await people.a_person()
    enrolled = await people.enrol(person)
    asking = (people.desk, person.account_id, FactorKind.SECOND_FACTOR, "lost")
    assert await ask_for_reset(*asking, by=AN_OPERATOR) is not None
    assert await ask_for_reset(*asking, by=AN_OPERATOR) is None
    with pytest.raises(SessionOver):
        await session_of(people.desk, enrolled.token)
    told = await owner.fetchrow("select actor, action, detail from audit order by id desc limit 1")
    assert tuple(told) == (AN_OPERATOR.name, "login.second_factor_off", '{"sessions": 1}')
    await people.sign_in(person)
    await people.postman.round()
    assert "Your second factor was turned off" in people.mailbox.subjects(person.email)


async def test_a_new_password_by_mail_does_not_replace_the_second_factor(people: People) -> None:
    person = await people.a_person()
    enrolled = await people.enrol(person)
    await request_reset(people.desk, person.email, RequestOrigin())
    await people.postman.round()
    await reset_password(people.desk, people.mailbox.last_token(person.email), "quite another password")
    with pytest.raises(SecondFactorNeeded):
        await people.sign_in(person, password="quite another password")
    await people.sign_in(person, password="quite another password", code=enrolled.code())


async def test_the_secret_is_sealed_for_its_account(people: People, owner: asyncpg.Connection) -> None:
    person, other = await people.a_person(), await people.a_person()
    enrolled = await people.enrol(person)
    row = await owner.fetchrow("select * from login where account_id = $1", person.account_id)
    assert enrolled.secret.encode() not in row["totp_sealed"]
    await owner.execute(
        "update login set totp_sealed = $1, totp_confirmed_at = now() where account_id = $2",
        row["totp_sealed"],
        other.account_id,
    )
    with pytest.raises(ValueError, match="cannot be opened"):
        await require_second_factor(people.desk, other.account_id, enrolled.code())


async def test_a_session_that_ended_meanwhile_confirms_nothing(people: People, owner: asyncpg.Connection) -> None:
    person = await people.a_person()
    session = await session_of(people.desk, (await people.sign_in(person)).token)
    proposal = await propose_second_factor(people.desk, session, person.password)
    confirmation = a_confirmation(session, pyotp.TOTP(proposal.secret).now())
    await owner.execute("update session set revoked_at = ledger_now() where id = $1", session.session_id)
    assert not await people.desk.second_factors.confirm(confirmation)
    assert await owner.fetchval("select totp_confirmed_at from login") is None


def a_confirmation(session: SessionRecord, code: str) -> Confirmation:
    return Confirmation(
        account_id=session.account_id,
        session_id=session.session_id,
        code=code,
        recovery_digests=[secrets.token_bytes(32) for _ in range(2)],
        token_digest=secrets.token_bytes(32),
    )
