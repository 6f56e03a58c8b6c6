"""Passkeys: who gets one, who signs in with one, and what is refused."""

import asyncio
import json
from collections.abc import Callable

import asyncpg
import pytest

from tests.passkeys import PRESENT, Ceremony, Device, written
from tests.people import AN_OPERATOR, People, Person, until_waiting
from tollkeeper.accounts.people.factor_resets import ask_for_reset
from tollkeeper.accounts.people.front_desk import RequestOrigin
from tollkeeper.accounts.people.passkeys import (
    PasskeyWish,
    add_passkey,
    ask_for_passkey,
    passkey_of,
    passkeys_of,
    propose_passkey,
    remove_passkey,
    sign_in_with_passkey,
)
from tollkeeper.accounts.people.sessions import session_of
from tollkeeper.accounts.people.sign_in import SignedIn
from tollkeeper.core.people.logins import (
    LoginDisabled,
    LoginRefusal,
    SecondFactorNeeded,
    SessionOver,
    SessionRecord,
    TooManyAttempts,
    WrongCode,
    WrongCredentials,
)
from tollkeeper.core.people.passkeys import (
    PASSKEYS_MOST,
    BadPasskeyName,
    PasskeyNotAdded,
    PasskeyRefused,
    PasskeysFull,
    RelyingParty,
)
from tollkeeper.ports import NotOnFile
from tollkeeper.ports.factor_resets import FactorKind

PARTY = RelyingParty(host="console.example", origin="https://console.example", name="Tollkeeper")


async def a_session(people: People, person: Person, *, code: str = "") -> SessionRecord:
    return await session_of(people.desk, (await people.sign_in(person, code=code)).token)


async def add(
    people: People, session: SessionRecord, device: Device, *, code: str = "", how: Ceremony | None = None
) -> None:
    wish = PasskeyWish(name="My phone", password="correct horse battery", code=code)
    proposal, options = await propose_passkey(people.desk, session, wish, PARTY)
    await add_passkey(people.desk, session, proposal, device.make(options, how), PARTY)


async def enter(people: People, device: Device, how: Ceremony | None = None, *, ip: str = "") -> SignedIn:
    asked = ask_for_passkey(people.desk, PARTY)
    answer = device.sign(asked.options, how)
    return await sign_in_with_passkey(people.desk, asked.challenge, answer, PARTY, RequestOrigin(ip=ip, agent="a test"))


async def test_a_passkey_that_was_added_signs_in(people: People, owner: asyncpg.Connection) -> None:
    person, device = await people.a_person(), Device()
    session = await a_session(people, person)
    await add(people, session, device)
    [passkey] = await passkeys_of(people.desk, person.account_id)
    assert (passkey.name, passkey.transports, passkey.last_used_at) == ("My phone", ("internal",), None)
    for _ in range(2):
        signed_in = await enter(people, device)
        assert (await session_of(people.desk, signed_in.token)).account_id == person.account_id
    [passkey] = await passkeys_of(people.desk, person.account_id)
    assert (passkey.sign_count, passkey.last_used_at is not None) == (2, True)
    await people.postman.round()
    assert "A passkey was added" in people.mailbox.subjects(person.email)
    told = await owner.fetchrow("select actor, action, subject from audit order by id desc limit 1")
    whose = f"account:{person.account_id}"
    assert tuple(told) == (whose, "login.passkey_added", whose)


async def test_a_device_that_does_not_count_signs_in_again_and_again(people: People) -> None:
    person, device = await people.a_person(), Device(counts=False)
    await add(people, await a_session(people, person), device)
    for _ in range(2):
        await enter(people, device)


async def test_a_passkey_counts_as_both_factors(people: People) -> None:
    person, device = await people.a_person(), Device()
    enrolled = await people.enrol(person)
    await add(people, await session_of(people.desk, enrolled.token), device, code=enrolled.code())
    session = await session_of(people.desk, (await enter(people, device)).token)
    assert session.passed_second_factor


async def test_adding_one_takes_both_factors(people: People) -> None:
    """Or whoever has a session and the password would be rid of the second factor."""
    person = await people.a_person()
    enrolled = await people.enrol(person)
    session = await session_of(people.desk, enrolled.token)
    with pytest.raises(SecondFactorNeeded):
        await add(people, session, Device())
    with pytest.raises(WrongCode):
        await add(people, session, Device(), code="000000")
    wish = PasskeyWish(name="A phone", password="wrong horse battery", code=enrolled.code())
    with pytest.raises(WrongCredentials):
        await propose_passkey(people.desk, session, wish, PARTY)
    assert await passkeys_of(people.desk, person.account_id) == []


@pytest.mark.parametrize("name", ["", "  ", "x" * 61, "two\nlines"])
async def test_a_passkey_has_a_name_of_one_line(people: People, name: str) -> None:
    session = await a_session(people, await people.a_person())
    with pytest.raises(BadPasskeyName):
        await propose_passkey(people.desk, session, PasskeyWish(name=name, password="correct horse battery"), PARTY)


BAD_CEREMONIES = [
    pytest.param(Ceremony(origin="https://evil.example"), id="another address"),
    pytest.param(Ceremony(origin="http://console.example"), id="plain HTTP"),
    pytest.param(Ceremony(host="evil.example"), id="another host"),
    pytest.param(Ceremony(flags=PRESENT), id="nobody verified"),
    pytest.param(Ceremony(flags=0), id="nobody there"),
    pytest.param(Ceremony(challenge=written(b"another challenge")), id="another challenge"),
]


@pytest.mark.parametrize("how", BAD_CEREMONIES)
async def test_what_was_made_otherwise_is_not_added(people: People, how: Ceremony) -> None:
    person = await people.a_person()
    with pytest.raises(PasskeyNotAdded):
        await add(people, await a_session(people, person), Device(), how=how)
    assert await passkeys_of(people.desk, person.account_id) == []


@pytest.mark.parametrize("how", [*BAD_CEREMONIES, pytest.param(Ceremony(user_handle=b"somebody"), id="another person")])
async def test_what_was_signed_otherwise_opens_no_session(
    people: People, owner: asyncpg.Connection, how: Ceremony
) -> None:
    person, device = await people.a_person(), Device()
    await add(people, await a_session(people, person), device)
    before = await owner.fetchval("select count(*) from session")
    with pytest.raises(PasskeyRefused):
        await enter(people, device, how)
    assert await owner.fetchval("select count(*) from session") == before
    await enter(people, device)


async def test_an_answer_counts_once(people: People) -> None:
    person, device = await people.a_person(), Device(counts=False)
    await add(people, await a_session(people, person), device)
    asked = ask_for_passkey(people.desk, PARTY)
    answer = device.sign(asked.options)

    async def send() -> SignedIn:
        return await sign_in_with_passkey(people.desk, asked.challenge, answer, PARTY, RequestOrigin())

    outcomes = await asyncio.gather(*(send() for _ in range(5)), return_exceptions=True)
    assert sorted(type(each).__name__ for each in outcomes) == ["PasskeyRefused"] * 4 + ["SignedIn"]
    with pytest.raises(PasskeyRefused):
        await send()


async def test_a_challenge_is_used_up_by_a_wrong_answer_too(people: People) -> None:
    person, device = await people.a_person(), Device()
    await add(people, await a_session(people, person), device)
    asked = ask_for_passkey(people.desk, PARTY)
    for answer in (device.sign(asked.options, Ceremony(flags=PRESENT)), device.sign(asked.options)):
        with pytest.raises(PasskeyRefused):
            await sign_in_with_passkey(people.desk, asked.challenge, answer, PARTY, RequestOrigin())


async def test_a_password_typed_once_adds_one_passkey(people: People) -> None:
    person = await people.a_person()
    session = await a_session(people, person)
    wish = PasskeyWish(name="My phone", password=person.password)
    proposal, options = await propose_passkey(people.desk, session, wish, PARTY)
    await add_passkey(people.desk, session, proposal, Device().make(options), PARTY)
    with pytest.raises(PasskeyNotAdded):
        await add_passkey(people.desk, session, proposal, Device().make(options), PARTY)
    assert len(await passkeys_of(people.desk, person.account_id)) == 1


async def test_a_count_that_goes_back_is_refused(people: People) -> None:
    """Of two copies of one device, one falls behind."""
    person, device = await people.a_person(), Device()
    await add(people, await a_session(people, person), device)
    device.count = 7
    await enter(people, device)
    for behind in (0, 6, 7):
        device.count = behind - 1 if behind else 0
        with pytest.raises(PasskeyRefused):
            await enter(people, device)
    device.count = 8
    await enter(people, device)


async def test_a_passkey_of_another_is_not_added_again(people: People) -> None:
    person, thief, device = await people.a_person(), await people.a_person(), Device()
    await add(people, await a_session(people, person), device)
    with pytest.raises(PasskeyNotAdded):
        await add(people, await a_session(people, thief), device)
    assert await passkeys_of(people.desk, thief.account_id) == []


async def test_a_key_of_ones_own_is_no_good_under_anothers_name(people: People) -> None:
    person, thief = await people.a_person(), await people.a_person()
    device, forged = Device(), Device()
    await add(people, await a_session(people, person), device)
    await add(people, await a_session(people, thief), forged)
    forged.credential_id, forged.user_handle = device.credential_id, device.user_handle
    with pytest.raises(PasskeyRefused):
        await enter(people, forged)


def without(field: str) -> Callable[[str], str]:
    def cut(answer: str) -> str:
        told = json.loads(answer)
        del told["response"][field]
        return json.dumps(told)

    return cut


def with_response(**fields: object) -> Callable[[str], str]:
    def replaced(answer: str) -> str:
        told = json.loads(answer)
        told["response"] |= fields
        return json.dumps(told)

    return replaced


@pytest.mark.parametrize(
    "spoil",
    [
        lambda answer: "",
        lambda answer: "[" * 60_000,
        lambda answer: '{"a":' * 20_000,
        lambda answer: "{}",
        lambda answer: answer.replace("public-key", "password"),
        lambda answer: answer.replace('"rawId": "', '"rawId": "A'),
        without("clientDataJSON"),
        without("authenticatorData"),
        without("signature"),
        without("userHandle"),
        with_response(userHandle=None),
        with_response(userHandle="!"),
        with_response(signature="AAAA"),
        with_response(authenticatorData="AAAA"),
        with_response(authenticatorData=written(b"\xff" * 60)),
        with_response(clientDataJSON=written(b"[" * 30_000)),
        with_response(clientDataJSON=written(b'{"type": 1, "challenge": 2, "origin": 3}')),
    ],
)
async def test_what_is_no_answer_is_refused(people: People, spoil: Callable[[str], str]) -> None:
    person, device = await people.a_person(), Device()
    await add(people, await a_session(people, person), device)
    asked = ask_for_passkey(people.desk, PARTY)
    answer = spoil(device.sign(asked.options))
    with pytest.raises(PasskeyRefused):
        await sign_in_with_passkey(people.desk, asked.challenge, answer, PARTY, RequestOrigin())


@pytest.mark.parametrize(
    "spoil",
    [
        lambda answer: "",
        lambda answer: '{"a":' * 20_000,
        with_response(attestationObject="AAAA"),
        with_response(attestationObject=written(b"\x81" * 30_000)),
        with_response(attestationObject=written(b"\xa1\x68authData\x01")),
        without("attestationObject"),
        with_response(transports="usb"),
    ],
)
async def test_what_is_no_passkey_is_not_added(people: People, spoil: Callable[[str], str]) -> None:
    person, device = await people.a_person(), Device()
    session = await a_session(people, person)
    wish = PasskeyWish(name="My phone", password=person.password)
    proposal, options = await propose_passkey(people.desk, session, wish, PARTY)
    with pytest.raises(PasskeyNotAdded):
        await add_passkey(people.desk, session, proposal, spoil(device.make(options)), PARTY)


async def test_strangers_keep_nobody_from_a_passkey(people: People, owner: asyncpg.Connection) -> None:
    person, device = await people.a_person(), Device()
    await add(people, await a_session(people, person), device)
    for _ in range(50):
        with pytest.raises(PasskeyRefused):
            await enter(people, device, Ceremony(flags=PRESENT), ip="192.0.2.7")
    with pytest.raises(TooManyAttempts):
        await enter(people, device, ip="192.0.2.7")
    await enter(people, device, ip="192.0.2.8")
    await people.sign_in(person, ip="192.0.2.7")
    kinds = await owner.fetch("select kind from lockout where failures > 0 or locked_until is not null")
    assert {row["kind"] for row in kinds} <= {"passkey_from_ip", "mail_to"}


async def test_a_locked_password_does_not_lock_the_passkey(people: People) -> None:
    person, device = await people.a_person(), Device()
    await add(people, await a_session(people, person), device)
    for _ in range(5):
        with pytest.raises(WrongCredentials):
            await people.sign_in(person, password="wrong horse battery", ip="192.0.2.7")
    await enter(people, device, ip="192.0.2.7")


async def test_a_removed_passkey_is_over_and_so_are_its_sessions(people: People, owner: asyncpg.Connection) -> None:
    person, device = await people.a_person(), Device()
    session = await a_session(people, person)
    await add(people, session, device)
    [passkey] = await passkeys_of(people.desk, person.account_id)
    by_passkey = await enter(people, device)
    with pytest.raises(WrongCredentials):
        await remove_passkey(people.desk, session, passkey.passkey_id, "wrong horse battery")
    await remove_passkey(people.desk, session, passkey.passkey_id, person.password)
    with pytest.raises(PasskeyRefused):
        await enter(people, device)
    with pytest.raises(SessionOver):
        await session_of(people.desk, by_passkey.token)
    [kept] = (await people.desk.sessions.of(person.account_id))[0]
    assert kept.session_id == session.session_id
    await people.postman.round()
    assert "A passkey was removed" in people.mailbox.subjects(person.email)
    assert await owner.fetchval("select action from audit order by id desc limit 1") == "login.passkey_removed"


async def test_anothers_passkey_can_be_neither_seen_nor_removed(people: People) -> None:
    person, other, device = await people.a_person(), await people.a_person(), Device()
    await add(people, await a_session(people, person), device)
    [passkey] = await passkeys_of(people.desk, person.account_id)
    session = await a_session(people, other)
    with pytest.raises(NotOnFile):
        await passkey_of(people.desk, other.account_id, passkey.passkey_id)
    with pytest.raises(NotOnFile):
        await remove_passkey(people.desk, session, passkey.passkey_id, other.password)
    await enter(people, device)


async def test_a_passkey_removed_while_somebody_signs_in_with_it_leaves_no_session(
    people: People, owner: asyncpg.Connection
) -> None:
    person, device = await people.a_person(), Device()
    await add(people, await a_session(people, person), device)
    async with owner.transaction():
        await owner.execute("delete from passkey")
        entering = asyncio.gather(enter(people, device), return_exceptions=True)
        await until_waiting(owner, 1)
    [refusal] = await entering
    assert isinstance(refusal, PasskeyRefused)


async def test_an_account_has_twenty_at_most(people: People, owner: asyncpg.Connection) -> None:
    person = await people.a_person()
    session = await a_session(people, person)
    await add(people, session, Device())
    wish = PasskeyWish(name="One more", password=person.password)
    proposal, options = await propose_passkey(people.desk, session, wish, PARTY)
    await owner.execute(
        "insert into passkey (account_id, name, credential_id, public_key, user_handle, sign_count, transports) "
        "select account_id, name, int4send(n), public_key, user_handle, 0, transports "
        "from passkey, generate_series(2, $1) n",
        PASSKEYS_MOST,
    )
    with pytest.raises(PasskeyNotAdded):
        await add_passkey(people.desk, session, proposal, Device().make(options), PARTY)
    with pytest.raises(PasskeysFull):
        await propose_passkey(people.desk, session, wish, PARTY)


async def test_all_passkeys_of_an_account_know_it_by_one_handle(people: People) -> None:
    person, first, second = await people.a_person(), Device(), Device()
    session = await a_session(people, person)
    await add(people, session, first)
    wish = PasskeyWish(name="My laptop", password=person.password)
    proposal, options = await propose_passkey(people.desk, session, wish, PARTY)
    asked = json.loads(options)
    assert asked["excludeCredentials"][0]["id"] == written(first.credential_id)
    await add_passkey(people.desk, session, proposal, second.make(options), PARTY)
    assert first.user_handle == second.user_handle
    assert person.email.encode() not in first.user_handle
    await enter(people, first)
    await enter(people, second)


async def test_a_disabled_account_is_not_entered(people: People, owner: asyncpg.Connection) -> None:
    person, device = await people.a_person(), Device()
    await add(people, await a_session(people, person), device)
    await owner.execute("update account set disabled_at = now() where id = $1", person.account_id)
    with pytest.raises(LoginDisabled):
        await enter(people, device)


async def test_support_drops_them_all(people: People, owner: asyncpg.Connection) -> None:
    person, devices = await people.a_person(), [Device(), Device()]
    session = await a_session(people, person)
    for device in devices:
        await add(people, session, device)
    signed_in = await enter(people, devices[0])
    dropped = await ask_for_reset(people.desk, person.account_id, FactorKind.PASSKEYS, "lost", by=AN_OPERATOR)
    assert dropped is not None
    assert await ask_for_reset(people.desk, person.account_id, FactorKind.PASSKEYS, "lost", by=AN_OPERATOR) is None
    with pytest.raises(SessionOver):
        await session_of(people.desk, signed_in.token)
    with pytest.raises(LoginRefusal):
        await enter(people, devices[1])
    assert await owner.fetchval("select actor from audit order by id desc limit 1") == AN_OPERATOR.name
