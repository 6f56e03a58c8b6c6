import asyncio
import hashlib
import statistics
import time
from collections.abc import Awaitable, Callable

import asyncpg
import msgspec
import pytest
from argon2 import PasswordHasher

from tests.people import PASSWORD, People, Person, an_email, until_waiting
from tollkeeper.accounts.people.front_desk import FrontDesk, RequestOrigin, without_lockouts
from tollkeeper.accounts.people.passwords import change_password, request_reset
from tollkeeper.accounts.people.sessions import session_of
from tollkeeper.accounts.people.sign_in import Credentials, sign_in
from tollkeeper.accounts.people.sign_up import SignUpWish, request_sign_up
from tollkeeper.core.people.logins import (
    LoginDisabled,
    LoginRefusal,
    SessionOver,
    TooBusy,
    TooManyAttempts,
    WrongCredentials,
)
from tollkeeper.storage.people.password_hashes import Argon2Hashes

TRIALS = 15
# A hash takes long enough to be missed where none is made, and not as long as in earnest.
MODEST = PasswordHasher(time_cost=2, memory_cost=32 * 1024, parallelism=1)


async def test_a_sign_in_opens_a_session_with_a_token_of_its_own(people: People, owner: asyncpg.Connection) -> None:
    person = await people.a_person()
    first, second = await people.sign_in(person), await people.sign_in(person)
    assert first.token != second.token
    assert first.session_id != second.session_id
    session = await session_of(people.desk, first.token)
    assert (session.account_id, session.agent) == (person.account_id, "a test")
    stored = str([dict(row) for row in await owner.fetch("select * from session")])
    assert first.token not in stored


@pytest.mark.parametrize("password", ["wrong horse battery", "", "x" * 5_000, "\ud800" * 12, PASSWORD.upper()])
async def test_a_wrong_password_and_an_unknown_email_are_answered_alike(people: People, password: str) -> None:
    person = await people.a_person()
    told = set()
    for email in (person.email, an_email(), "no e-mail at all"):
        with pytest.raises(WrongCredentials) as refusal:
            await sign_in(people.desk, Credentials(email=email, password=password), RequestOrigin())
        told.add(str(refusal.value))
    assert len(told) == 1


async def test_an_agents_name_is_cut(people: People) -> None:
    person = await people.a_person()
    given = Credentials(email=person.email, password=person.password)
    signed_in = await sign_in(people.desk, given, RequestOrigin(agent="a" * 5_000))
    assert (await session_of(people.desk, signed_in.token)).agent == "a" * 200


async def test_five_failures_lock_also_the_right_password_out(people: People, owner: asyncpg.Connection) -> None:
    person = await people.a_person()
    for _ in range(5):
        with pytest.raises(WrongCredentials):
            await people.sign_in(person, password="wrong horse battery")
    with pytest.raises(TooManyAttempts, match="Try again after"):
        await people.sign_in(person)
    await owner.execute("update lockout set locked_until = now()")
    await people.sign_in(person)
    assert await owner.fetchval("select count(*) from lockout where kind = 'sign_in_of_email_from_ip'") == 0


async def test_an_unknown_email_is_locked_likewise(people: People) -> None:
    nobody = Person(0, an_email(), PASSWORD)
    for _ in range(5):
        with pytest.raises(WrongCredentials):
            await people.sign_in(nobody)
    with pytest.raises(TooManyAttempts):
        await people.sign_in(nobody)


async def test_a_crowd_of_guesses_at_once_gets_no_further_than_five(people: People, owner: asyncpg.Connection) -> None:
    person = await people.a_person()
    with pytest.raises(WrongCredentials):
        await people.sign_in(person, password="the first guess")
    async with asyncio.TaskGroup() as group, owner.transaction():
        await owner.execute("select from lockout for update")
        guesses = [group.create_task(refusal_of(people, person, f"guess number {n}")) for n in range(6)]
        await until_waiting(owner, 6)
    refusals = [guess.result() for guess in guesses]
    assert refusals.count(WrongCredentials) == 4
    assert refusals.count(TooManyAttempts) == 2


async def test_guesses_from_elsewhere_do_not_lock_the_owner_out_at_once(people: People) -> None:
    person = await people.a_person()
    for _ in range(5):
        with pytest.raises(WrongCredentials):
            await people.sign_in(person, password="wrong horse battery", ip="192.0.2.7")
    with pytest.raises(TooManyAttempts):
        await people.sign_in(person, ip="192.0.2.7")
    await people.sign_in(person, ip="192.0.2.8")


async def test_an_email_that_is_tried_from_everywhere_is_locked_in_the_end(people: People) -> None:
    nobody = Person(0, an_email(), PASSWORD)
    for n in range(100):
        with pytest.raises(WrongCredentials):
            await people.sign_in(nobody, ip=f"192.0.2.{n}")
    with pytest.raises(TooManyAttempts):
        await people.sign_in(nobody, ip="192.0.2.199")


async def test_an_ipv6_client_has_no_more_attempts_than_others(people: People) -> None:
    person = await people.a_person()
    for n in range(5):
        with pytest.raises(WrongCredentials):
            await people.sign_in(person, password="wrong horse battery", ip=f"2001:db8::{n}:1")
    with pytest.raises(TooManyAttempts):
        await people.sign_in(person, ip="2001:db8::ffff")
    await people.sign_in(person, ip="2001:db8:0:1::1")


async def test_a_lock_that_begins_is_logged_without_the_email(people: People, caplog: pytest.LogCaptureFixture) -> None:
    person, nobody = await people.a_person(), Person(0, an_email(), PASSWORD)
    for somebody in (person, nobody):
        for _ in range(5):
            with pytest.raises(WrongCredentials):
                await people.sign_in(somebody, password="wrong horse battery", ip="192.0.2.7")
        with pytest.raises(TooManyAttempts):
            await people.sign_in(somebody, ip="192.0.2.7")
    told = [record.getMessage() for record in caplog.records if record.name == "tollkeeper.storage.people.lockouts"]
    kind = "sign_in_of_email_from_ip"
    assert told == [f"lock begins: {kind}, account {person.account_id}", f"lock begins: {kind}, account unknown"]
    assert not any(each in caplog.text for each in (person.email, nobody.email, "192.0.2.7"))


async def test_nothing_of_a_lock_can_be_tried_out_by_whoever_reads_the_table(
    people: People, owner: asyncpg.Connection
) -> None:
    person = await people.a_person()
    with pytest.raises(WrongCredentials):
        await people.sign_in(person, password="wrong horse battery", ip="192.0.2.7")
    guesses = [person.email, f"{person.email} ", f"{person.email} 192.0.2.7", "192.0.2.7"]
    digests = {hashlib.sha256(text.encode()).digest() for guess in guesses for text in (guess, f"lockout {guess}")}
    rows = await owner.fetch("select subject, email from lockout")
    assert rows
    assert not digests & {digest for row in rows for digest in row}


async def test_an_operator_at_the_command_line_is_not_locked_out(people: People) -> None:
    person = await people.a_person()
    for _ in range(6):
        with pytest.raises((WrongCredentials, TooManyAttempts)):
            await people.sign_in(person, password="wrong horse battery")
    given = Credentials(email=person.email, password=person.password)
    with pytest.raises(TooManyAttempts):
        await sign_in(people.desk, given, RequestOrigin())
    await sign_in(without_lockouts(people.desk), given, RequestOrigin())


async def test_who_was_sent_away_for_want_of_time_has_not_failed(people: People, owner: asyncpg.Connection) -> None:
    class Busy(Argon2Hashes):
        async def matches(self, password_hash: str | None, password: str) -> bool:
            raise TooBusy

    person = await people.a_person()
    session = await session_of(people.desk, (await people.sign_in(person)).token)
    busy = People(with_hashes(people, Busy()), people.postman, people.mailbox)
    for _ in range(7):
        with pytest.raises(TooBusy, match="nothing was counted"):
            await busy.sign_in(person, ip="192.0.2.7")
        with pytest.raises(TooBusy):
            await change_password(busy.desk, session, person.password, "quite another password")
    assert await owner.fetchval("select sum(failures) from lockout where kind <> 'mail_to'") == 0


async def test_an_ip_that_tries_many_emails_is_locked(people: People) -> None:
    person = await people.a_person()
    for _ in range(25):
        with pytest.raises(WrongCredentials):
            await people.sign_in(Person(0, an_email(), PASSWORD), ip="192.0.2.7")
        # Its own success in between does not make it innocent.
    await people.sign_in(person, ip="192.0.2.7")
    for _ in range(25):
        with pytest.raises(WrongCredentials):
            await people.sign_in(Person(0, an_email(), PASSWORD), ip="192.0.2.7")
    with pytest.raises(TooManyAttempts):
        await people.sign_in(person, ip="192.0.2.7")


async def test_a_disabled_account_is_told_only_to_whoever_has_its_password(
    people: People, owner: asyncpg.Connection
) -> None:
    person = await people.a_person()
    token = (await people.sign_in(person)).token
    await owner.execute("update account set disabled_at = now() where id = $1", person.account_id)
    with pytest.raises(WrongCredentials):
        await people.sign_in(person, password="wrong horse battery")
    with pytest.raises(LoginDisabled):
        await people.sign_in(person)
    with pytest.raises(SessionOver):
        await session_of(people.desk, token)


async def test_a_hash_of_older_parameters_is_made_anew(people: People, owner: asyncpg.Connection) -> None:
    person = await people.a_person()
    assert "m=64,t=1,p=1" in await owner.fetchval("select password from login")
    stronger = People(with_hashes(people, Argon2Hashes()), people.postman, people.mailbox)
    await stronger.sign_in(person)
    assert "m=65536,t=3,p=4" in await owner.fetchval("select password from login")
    await stronger.sign_in(person)


async def test_a_password_changed_while_somebody_signs_in_with_the_old_one_leaves_no_session(people: People) -> None:
    person = await people.a_person()
    session = await session_of(people.desk, (await people.sign_in(person)).token)

    class ChangedMeanwhile(Argon2Hashes):
        """Somebody else is faster: between the check and the session, the password changes."""

        async def matches(self, password_hash: str | None, password: str) -> bool:
            fits = await super().matches(password_hash, password)
            await change_password(desk, session, person.password, "quite another password")
            return fits

    desk = people.desk
    slow = People(with_hashes(people, ChangedMeanwhile()), people.postman, people.mailbox)
    with pytest.raises(WrongCredentials):
        await slow.sign_in(person)


async def test_time_does_not_tell_whether_an_email_is_known(
    people: People, owner: asyncpg.Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    person = await people.a_person()
    counting = Counting(MODEST)
    desk = with_hashes(people, counting)
    # Its hash is made anew, with the parameters of today.
    await sign_in(desk, Credentials(email=person.email, password=person.password), RequestOrigin())

    async def wrong_password(email: str) -> None:
        with pytest.raises(WrongCredentials):
            await sign_in(desk, Credentials(email=email, password="wrong horse battery"), RequestOrigin())

    async def sign_up(email: str) -> None:
        await request_sign_up(desk, SignUpWish(email=email), RequestOrigin())

    async def reset(email: str) -> None:
        await request_reset(desk, email, RequestOrigin())

    for name, ask, hashes in (("sign-in", wrong_password, 1), ("sign-up", sign_up, 0), ("reset", reset, 0)):
        await ask(an_email())
        alike: list[bool] = []
        # Chance on a busy machine does not strike three times; what tells, tells always.
        while not any(alike) and len(alike) < 3:
            known, unknown = await compare(ask, person.email, owner, counting)
            with capsys.disabled():
                print(f"\n{name}: known {known[0]:.1f} ms, unknown {unknown[0]:.1f} ms")
            assert known[1] == unknown[1] == hashes * TRIALS
            alike.append(abs(known[0] - unknown[0]) <= max(10, 0.25 * max(known[0], unknown[0])))
        assert any(alike)


async def refusal_of(people: People, person: Person, password: str) -> type[Exception]:
    with pytest.raises(LoginRefusal) as refusal:
        await people.sign_in(person, password=password)
    return refusal.type


def with_hashes(people: People, hashes: Argon2Hashes) -> FrontDesk:
    return msgspec.structs.replace(people.desk, hashes=hashes)


class Counting(Argon2Hashes):
    """Counts how often argon2 was run."""

    runs = 0

    async def hash(self, password: str) -> str:
        self.runs += 1
        return await super().hash(password)

    async def matches(self, password_hash: str | None, password: str) -> bool:
        self.runs += 1
        return await super().matches(password_hash, password)


async def compare(
    ask: Callable[[str], Awaitable[None]], known: str, owner: asyncpg.Connection, counting: Counting
) -> tuple[tuple[float, int], tuple[float, int]]:
    """The median of each in milliseconds, and how often argon2 was run; asked in turns."""
    taken: dict[bool, list[float]] = {True: [], False: []}
    runs = {True: 0, False: 0}
    for turn in range(2 * TRIALS):
        # Both are as new to the lockouts: there is no row of either.
        await owner.execute("delete from lockout")
        is_known = turn % 2 == 0
        before, began = counting.runs, time.perf_counter()
        await ask(known if is_known else an_email())
        taken[is_known].append(1_000 * (time.perf_counter() - began))
        runs[is_known] += counting.runs - before
    return (statistics.median(taken[True]), runs[True]), (statistics.median(taken[False]), runs[False])
