import asyncio
import json
from collections.abc import Awaitable, Callable

import asyncpg
import pytest

from tests.people import A_CUSTOMER, AN_OPERATOR, PASSWORD, SUPPORT, People, Person, an_email, until_waiting
from tollkeeper.accounts.money.redeem import CodeNotAccepted, RedeemingLocked, RedeemWish, redeem
from tollkeeper.accounts.people.factor_resets import ask_for_reset
from tollkeeper.accounts.people.front_desk import FrontDesk
from tollkeeper.accounts.people.sessions import session_of, session_setting_up
from tollkeeper.accounts.people.sign_up import SignUpWish, open_account
from tollkeeper.accounts.people.staff import (
    disable_account,
    enable_account,
    end_sessions,
    listed_logins,
    login_of,
    require_role,
    send_reset,
    sessions_of,
    set_role,
    unlock,
)
from tollkeeper.app.office import office
from tollkeeper.core.client_ip import read_ip
from tollkeeper.core.people.logins import (
    Actor,
    LoginDisabled,
    Role,
    RoleMissing,
    SecondFactorMissing,
    SessionOver,
    TooManyAttempts,
    WrongCode,
    WrongCredentials,
)
from tollkeeper.ports import NotOnFile
from tollkeeper.ports.factor_resets import FactorKind
from tollkeeper.settings import Settings

STAFF = pytest.mark.parametrize("role", [Role.SUPPORT, Role.OPERATOR])


@STAFF
async def test_staff_can_do_nothing_before_they_have_a_second_factor(people: People, role: Role) -> None:
    person = await people.a_person(role=role)
    token = (await people.sign_in(person)).token
    with pytest.raises(SecondFactorMissing):
        await session_of(people.desk, token)
    assert (await session_setting_up(people.desk, token)).account_id == person.account_id

    enrolled = await people.enrol(person)
    assert (await session_of(people.desk, enrolled.token)).role is role
    again = await people.sign_in(person, code=enrolled.code())
    session = await session_of(people.desk, again.token)
    assert (session.expires_at - session.created_at).total_seconds() == 12 * 3_600


async def test_staff_whose_second_factor_is_dropped_can_do_nothing_again(people: People) -> None:
    person = await people.a_person(role=Role.SUPPORT)
    enrolled = await people.enrol(person)
    await ask_for_reset(people.desk, person.account_id, FactorKind.SECOND_FACTOR, "lost", by=AN_OPERATOR)
    with pytest.raises(SessionOver):
        await session_setting_up(people.desk, enrolled.token)
    with pytest.raises(SecondFactorMissing):
        await session_of(people.desk, (await people.sign_in(person)).token)


async def test_a_new_role_ends_the_sessions_and_is_on_the_record(people: People, owner: asyncpg.Connection) -> None:
    person = await people.a_person()
    token = (await people.sign_in(person)).token
    assert await set_role(people.desk, person.account_id, Role.OPERATOR, by=AN_OPERATOR)
    assert not await set_role(people.desk, person.account_id, Role.OPERATOR, by=AN_OPERATOR)
    with pytest.raises(SessionOver):
        await session_setting_up(people.desk, token)
    told = await owner.fetchrow("select actor, action, detail from audit order by id desc limit 1")
    assert tuple(told)[:2] == (AN_OPERATOR.name, "login.role")
    assert json.loads(told["detail"]) == {"before": "customer", "after": "operator", "sessions": 1}


async def test_sign_ins_of_staff_are_on_the_record(people: People, owner: asyncpg.Connection) -> None:
    customer, support = await people.a_person(), await people.a_person(role=Role.SUPPORT)
    for person in (customer, support):
        await people.sign_in(person, ip="192.0.2.7")
    rows = await owner.fetch("select subject, detail from audit where action = 'login.sign_in'")
    assert [row["subject"] for row in rows] == [f"account:{support.account_id}"]
    assert "192.0.2.7" in rows[0]["detail"]


async def test_who_has_no_login_has_no_role(people: People) -> None:
    with pytest.raises(NotOnFile):
        await set_role(people.desk, 99, Role.OPERATOR, by=AN_OPERATOR)


@pytest.mark.parametrize(
    ("has", "least", "enough"),
    [
        (Role.CUSTOMER, Role.CUSTOMER, True),
        (Role.CUSTOMER, Role.SUPPORT, False),
        (Role.SUPPORT, Role.SUPPORT, True),
        (Role.SUPPORT, Role.OPERATOR, False),
        (Role.OPERATOR, Role.SUPPORT, True),
    ],
)
def test_a_role_has_what_lower_ones_have(has: Role, least: Role, enough: bool) -> None:
    if enough:
        require_role(Actor("test", has), least)
    else:
        with pytest.raises(RoleMissing):
            require_role(Actor("test", has), least)


Act = Callable[[FrontDesk, Person, Actor], Awaitable[object]]
ON_SOMEBODY: dict[str, Act] = {
    "end sessions": lambda desk, person, by: end_sessions(desk, person.account_id, by=by),
    "drop the second factor": lambda desk, person, by: ask_for_reset(
        desk, person.account_id, FactorKind.SECOND_FACTOR, "lost", by=by
    ),
    "drop the passkeys": lambda desk, person, by: ask_for_reset(
        desk, person.account_id, FactorKind.PASSKEYS, "lost", by=by
    ),
    "send a link": lambda desk, person, by: send_reset(desk, person.email, by=by),
    "unlock": lambda desk, person, by: unlock(desk, person.email, by=by),
}
LOOKING: dict[str, Act] = {
    "list": lambda desk, _, by: listed_logins(desk, staff_only=False, by=by),
    "look at a login": lambda desk, person, by: login_of(desk, person.account_id, by=by),
    "look for an e-mail": lambda desk, person, by: login_of(desk, person.email, by=by),
    "look at sessions": lambda desk, person, by: sessions_of(desk, person.account_id, by=by),
}
OPERATORS: dict[str, Act] = {
    "give a role": lambda desk, person, by: set_role(desk, person.account_id, Role.SUPPORT, by=by),
    "open an account": lambda desk, _, by: open_account(desk, SignUpWish(email=an_email()), PASSWORD, by=by),
}


async def test_what_staff_do_takes_the_role_for_it(people: People, owner: asyncpg.Connection) -> None:
    customer, support = await people.a_person(), await people.a_person(role=Role.SUPPORT)
    refused = [(act, customer, A_CUSTOMER) for act in (ON_SOMEBODY | LOOKING | OPERATORS).values()]
    refused += [(act, support, SUPPORT) for act in (ON_SOMEBODY | OPERATORS).values()]
    before = await owner.fetchval("select count(*) from audit")
    for act, person, by in refused:
        with pytest.raises(RoleMissing):
            await act(people.desk, person, by)
    assert await owner.fetchval("select count(*) from audit") == before
    for act in (ON_SOMEBODY | LOOKING).values():
        await act(people.desk, customer, SUPPORT)
    for act in (ON_SOMEBODY | LOOKING | OPERATORS).values():
        await act(people.desk, support, AN_OPERATOR)


async def test_a_link_that_support_has_sent_is_on_the_record(people: People, owner: asyncpg.Connection) -> None:
    person = await people.a_person()
    # However many: a cap that strangers can use up does not hinder support.
    for _ in range(7):
        assert await send_reset(people.desk, person.email.upper(), by=SUPPORT) == person.account_id
    await people.postman.round()
    assert people.mailbox.subjects(person.email).count("Choose a new password") == 7
    told = await owner.fetchrow("select actor, action, subject from audit order by id desc limit 1")
    assert tuple(told) == ("account:7", "login.send_reset", f"account:{person.account_id}")
    with pytest.raises(NotOnFile):
        await send_reset(people.desk, an_email(), by=SUPPORT)


async def test_unlocking_ends_every_lock_of_an_email_and_no_others(people: People, owner: asyncpg.Connection) -> None:
    person, other = await people.a_person(), await people.a_person()
    enrolled = await people.enrol(person)
    for somebody in (person, other):
        for _ in range(5):
            with pytest.raises(WrongCredentials):
                await people.sign_in(somebody, password="wrong horse battery", ip="192.0.2.7")
    for n in range(5):
        with pytest.raises(WrongCode):
            await people.sign_in(person, code="000000", ip=f"198.51.100.{n}")
    with pytest.raises(TooManyAttempts):
        await people.sign_in(person, code=enrolled.code(), ip="203.0.113.1")

    assert await unlock(people.desk, person.email, by=SUPPORT) == 2
    assert await unlock(people.desk, person.email, by=SUPPORT) == 0
    told = await owner.fetch("select actor, subject, detail from audit where action = 'login.unlock' order by id")
    assert tuple(told[0])[:2] == ("account:7", f"account:{person.account_id}")
    assert json.loads(told[0]["detail"]) == {"locks": ["second_factor", "sign_in_of_email_from_ip"]}
    await people.sign_in(person, code=enrolled.code(), ip="192.0.2.7")
    with pytest.raises(TooManyAttempts):
        await people.sign_in(other, ip="192.0.2.7")


async def test_unlocking_ends_the_lock_on_redeeming_too_and_no_others(people: People, settings: Settings) -> None:
    person, other = await people.a_person(), await people.a_person()

    async def guess(somebody: Person) -> None:
        wish = RedeemWish(account_id=somebody.account_id, code="nobody has this", ip=read_ip("192.0.2.7"))
        await redeem(wish, desk.referral_terms, desk.redemptions, actor="test")

    async with office(settings) as desk:
        for somebody in (person, other):
            for _ in range(5):
                with pytest.raises(CodeNotAccepted):
                    await guess(somebody)
            with pytest.raises(RedeemingLocked):
                await guess(somebody)
        assert await unlock(people.desk, person.account_id, by=SUPPORT) == 1
        with pytest.raises(CodeNotAccepted):
            await guess(person)
        with pytest.raises(RedeemingLocked):
            await guess(other)


async def test_a_login_is_found_by_its_account_and_by_its_email(people: People) -> None:
    person = await people.a_person()
    login = await login_of(people.desk, person.account_id, by=SUPPORT)
    assert login.email == person.email
    assert await login_of(people.desk, f" {person.email.upper()} ", by=SUPPORT) == login
    with pytest.raises(NotOnFile, match="No login has this e-mail"):
        await login_of(people.desk, an_email(), by=SUPPORT)


async def test_whoever_is_disabled_is_out_until_they_are_enabled_and_sign_in_anew(
    people: People, settings: Settings, owner: asyncpg.Connection
) -> None:
    person = await people.a_person()
    token = (await people.sign_in(person)).token
    async with office(settings) as desk:
        given = (people.desk, desk.accounts, person.account_id)
        with pytest.raises(ValueError, match="Say why"):
            await disable_account(*given, "  ", by=SUPPORT)
        await session_of(people.desk, token)
        assert await disable_account(*given, " taken over ", by=SUPPORT)
        assert not await disable_account(*given, "again", by=SUPPORT)
        with pytest.raises(SessionOver):
            await session_of(people.desk, token)
        with pytest.raises(LoginDisabled):
            await people.sign_in(person)
        assert await enable_account(*given, "it is the owner", by=SUPPORT)
        assert not await enable_account(*given, "again", by=SUPPORT)
    with pytest.raises(SessionOver):
        await session_of(people.desk, token)
    await session_of(people.desk, (await people.sign_in(person)).token)
    told = await owner.fetch("select actor, action, subject, detail from audit order by id desc limit 2")
    assert [tuple(row)[:3] for row in told] == [
        ("account:7", action, f"account:{person.account_id}") for action in ("account.enable", "account.disable")
    ]
    assert [json.loads(row["detail"]) for row in told] == [
        {"reason": "it is the owner"},
        {"reason": "taken over", "sessions": 1},
    ]


async def test_nobody_slips_in_while_an_account_is_being_disabled(people: People, owner: asyncpg.Connection) -> None:
    person = await people.a_person()
    async with owner.transaction():
        await owner.execute("update account set disabled_at = now() where id = $1", person.account_id)
        coming = asyncio.create_task(people.sign_in(person))
        await until_waiting(owner, 1)
    with pytest.raises(WrongCredentials):
        await coming
    assert await owner.fetchval("select count(*) from session") == 0


async def test_disabling_takes_the_role_for_it(people: People, settings: Settings) -> None:
    customer, support = await people.a_person(), await people.a_person(role=Role.SUPPORT)
    async with office(settings) as desk:
        nobodys = await desk.accounts.create("without a login", "standard", actor="test")
        refused = [(customer.account_id, A_CUSTOMER), (support.account_id, SUPPORT), (nobodys, SUPPORT)]
        for act in (disable_account, enable_account):
            for account_id, by in refused:
                with pytest.raises(RoleMissing):
                    await act(people.desk, desk.accounts, account_id, "because", by=by)
            with pytest.raises(NotOnFile):
                await act(people.desk, desk.accounts, 99, "because", by=AN_OPERATOR)
            for account_id in (support.account_id, nobodys):
                assert await act(people.desk, desk.accounts, account_id, "because", by=AN_OPERATOR)
