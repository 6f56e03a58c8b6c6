"""No enumeration: what is refused is refused in the same words, by the same statements, after the same time, and leaves
the same behind, whether there is such an account or code, or not."""

import secrets
import statistics
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from uuid import uuid4

import asyncpg
import msgspec
import pytest
from argon2 import PasswordHasher

from tests.codes import sold, take_back
from tollkeeper.accounts.money.codes import BatchWish
from tollkeeper.accounts.money.redeem import RedeemWish, redeem
from tollkeeper.accounts.people.front_desk import RequestOrigin
from tollkeeper.accounts.people.passwords import request_reset
from tollkeeper.accounts.people.sign_in import Credentials, sign_in
from tollkeeper.accounts.people.sign_up import SignUpWish, open_account, request_sign_up
from tollkeeper.app.office import office
from tollkeeper.app.people import front_desk_of
from tollkeeper.core.client_ip import read_ip
from tollkeeper.core.money.codes import ALPHABET, GIFT_CODE_LENGTH, mint_code
from tollkeeper.core.partner.plan import MicroUsd
from tollkeeper.core.people.logins import Actor, Role
from tollkeeper.office.desks import Office
from tollkeeper.settings import Settings
from tollkeeper.storage.customers.redemption import SqlRedemptions
from tollkeeper.storage.people.password_hashes import Argon2Hashes
from tollkeeper.storage.postgres.database import Database, DatabaseRole

TRIALS = 15
# Generous: what skips a password's hash, or waits for a mail server, is found all the same.
DIFFERENCE_MS_MOST = 20.0
DIFFERENCE_PART_MOST = 0.5
# A hash takes long enough to be missed where none is made, and not as long as in earnest.
MODEST = PasswordHasher(time_cost=3, memory_cost=32 * 1024, parallelism=1)
ACTOR = "test"
AN_OPERATOR = Actor(ACTOR, Role.OPERATOR)
PASSWORD = "correct horse battery staple 4711"
VISITOR = RequestOrigin(ip="192.0.2.7")

# What a request has written: attempts that count against whoever asks, mails that the worker has to look at, sign-ups.
LEFT = """
select coalesce(array_agg(line order by line), '{}') from (
    select format('%s %s %s', kind, failures, locks) from lockout
    union all select format('mail %s', kind) from outbox
    union all select format('sign-up %s', gift_code is null) from sign_up) what (line)
"""

Ask = Callable[[], Awaitable[object]]


class Overheard(Database):
    """Writes down every statement, transactions' beginnings and ends too."""

    def __init__(self, settings: Settings) -> None:
        url, patience_seconds = settings.database_url.reveal(), settings.store_patience_seconds
        super().__init__(url, DatabaseRole.CONSOLE, connections=1, patience_seconds=patience_seconds)
        self.statements: list[str] = []

    @asynccontextmanager
    async def session(self, *, patience_seconds: float | None = None) -> AsyncIterator[asyncpg.Connection]:
        async with super().session(patience_seconds=patience_seconds) as connection:
            with connection.query_logger(lambda heard: self.statements.append(heard.query)):
                yield connection


class Person(msgspec.Struct, frozen=True):
    account_id: int
    email: str
    gift_code: str


class Seen(msgspec.Struct, frozen=True):
    """What came of a request."""

    told: str
    statements: tuple[str, ...]
    left: tuple[str, ...]


class Street:
    """Where strangers try what they have heard of, or made up."""

    def __init__(self, desk: Office, database: Overheard, owner: asyncpg.Connection) -> None:
        self.desk = desk
        self.database = database
        self.owner = owner

    async def a_person(self) -> Person:
        email = an_email()
        account_id = await open_account(self.desk.front_desk, SignUpWish(email=email), PASSWORD, by=AN_OPERATOR)
        gift_code = await self.owner.fetchval("select gift_code from account where id = $1", account_id)
        return Person(account_id, email, gift_code)

    async def a_code(self, *, exported: bool = True) -> str:
        wish = BatchWish(codes=1, usd_micros=MicroUsd(10_000_000), months=9)
        [code] = await sold(self.desk.codes, wish)
        if not exported:
            await take_back(self.owner)
        return code

    async def sign_in(self, email: str) -> object:
        given = Credentials(email=email, password="wrong horse battery staple", code="000000")
        return await sign_in(self.desk.front_desk, given, VISITOR)

    async def reset(self, email: str) -> None:
        await request_reset(self.desk.front_desk, email, VISITOR)

    async def sign_up(self, email: str, gift_code: str = "") -> None:
        wish = SignUpWish(email=email, gift_code=gift_code)
        await request_sign_up(self.desk.front_desk, wish, VISITOR)

    async def redeem(self, person: Person, code: str, gift_code: str | None = None) -> object:
        wish = RedeemWish(account_id=person.account_id, code=code, gift_code=gift_code, ip=read_ip(VISITOR.ip))
        return await redeem(wish, self.desk.referral_terms, self.desk.redemptions, actor=ACTOR)

    async def compare(self, name: str, known: Ask, unknown: Ask) -> None:
        """Ask in turns; the words, the statements and what they leave must be equal, and the medians alike."""
        taken_ms: dict[str, list[float]] = {"known": [], "unknown": []}
        seen: dict[str, set[Seen]] = defaultdict(set)
        # One more of each: the first of a connection is no measure.
        for turn in range(2 * (TRIALS + 1)):
            # Both are as new to the lockouts: there is no row of either.
            await self.owner.execute("delete from lockout; delete from outbox; delete from sign_up")
            side, ask = ("known", known) if turn % 2 else ("unknown", unknown)
            self.database.statements.clear()
            began = time.perf_counter()
            told = await answer(ask)
            taken_ms[side].append(1_000 * (time.perf_counter() - began))
            if turn > 1:
                seen[side].add(Seen(told, tuple(self.database.statements), tuple(await self.owner.fetchval(LEFT))))
        here, there = (statistics.median(times[1:]) for times in taken_ms.values())
        print(f"{name}: known {here:.1f} ms, unknown {there:.1f} ms")
        assert seen["known"] == seen["unknown"]
        assert len(seen["known"]) == 1
        assert all(one.statements for one in seen["known"])
        assert abs(here - there) <= max(DIFFERENCE_MS_MOST, DIFFERENCE_PART_MOST * max(here, there))


@pytest.fixture
async def street(settings: Settings, owner: asyncpg.Connection) -> AsyncIterator[Street]:
    async with office(settings) as desk:
        database = Overheard(settings)
        await database.open()
        front_desk = msgspec.structs.replace(front_desk_of(settings, database), hashes=Argon2Hashes(MODEST))
        overheard = msgspec.structs.replace(desk, front_desk=front_desk, redemptions=SqlRedemptions(database))
        yield Street(overheard, database, owner)
        await database.close()


@pytest.fixture(autouse=True)
def aloud(capsys: pytest.CaptureFixture[str]) -> Iterator[None]:
    """The figures are printed, whatever comes of them."""
    yield
    measured = capsys.readouterr().out
    with capsys.disabled():
        print(f"\n{measured}", end="")


def an_email() -> str:
    return f"{uuid4().hex[:12]}@people.example"


def an_unknown_code() -> str:
    return mint_code(secrets.choice)


async def an_unknown_gift_code(street: Street) -> str:
    known = {row["gift_code"] for row in await street.owner.fetch("select gift_code from account")}
    made_up = ("".join(secrets.choice(ALPHABET) for _ in range(GIFT_CODE_LENGTH)) for _ in range(100))
    return next(code for code in made_up if code not in known)


async def answer(ask: Ask) -> str:
    """What a stranger hears."""
    try:
        return str(await ask())
    except ValueError as refusal:
        return f"{type(refusal).__name__}: {refusal}"


@pytest.mark.parametrize("special", [False, True], ids=["an account", "a disabled one with a second factor"])
async def test_sign_in_does_not_tell_whether_there_is_an_account(street: Street, special: bool) -> None:
    person = await street.a_person()
    if special:
        await street.owner.execute("update account set disabled_at = now()")
        await street.owner.execute("update login set totp_sealed = 'x', totp_confirmed_at = now()")
    await street.compare("sign-in", lambda: street.sign_in(person.email), lambda: street.sign_in(an_email()))


@pytest.mark.parametrize("way", ["reset", "sign_up"])
async def test_a_full_mailbox_does_not_tell_whether_there_is_an_account(street: Street, way: str) -> None:
    person, stranger = await street.a_person(), an_email()
    ask: Callable[[str], Awaitable[None]] = getattr(street, way)
    told = {email: [await answer(partial(ask, email)) for _ in range(7)] for email in (person.email, stranger)}
    assert told[person.email] == told[stranger] == ["None"] * 7
    mails = await street.owner.fetch("select email, count(*) from outbox group by email")
    assert {tuple(row) for row in mails} == {(person.email, 5), (stranger, 5)}


async def test_a_reset_does_not_tell_whether_there_is_an_account(street: Street) -> None:
    person = await street.a_person()
    await street.compare("reset", lambda: street.reset(person.email), lambda: street.reset(an_email()))


async def test_a_sign_up_does_not_tell_whether_there_is_an_account(street: Street) -> None:
    person = await street.a_person()
    await street.compare("sign-up", lambda: street.sign_up(person.email), lambda: street.sign_up(an_email()))


async def test_a_sign_up_does_not_tell_whether_there_is_such_an_invite(street: Street) -> None:
    person, unknown = await street.a_person(), await an_unknown_gift_code(street)
    await street.compare(
        "invite",
        lambda: street.sign_up(an_email(), person.gift_code),
        lambda: street.sign_up(an_email(), unknown),
    )


@pytest.mark.parametrize("fate", ["used", "never handed out"])
async def test_redeeming_does_not_tell_whether_there_is_a_code(street: Street, fate: str) -> None:
    person, other = await street.a_person(), await street.a_person()
    code = await street.a_code(exported=fate == "used")
    if fate == "used":
        await street.redeem(other, code)
    await street.compare(
        f"redeem, {fate}",
        lambda: street.redeem(person, code),
        lambda: street.redeem(person, an_unknown_code()),
    )


@pytest.mark.parametrize("whose", ["another's", "one's own", "of somebody further on"])
async def test_redeeming_does_not_tell_whether_there_is_a_gift_code(street: Street, whose: str) -> None:
    person, other = await street.a_person(), await street.a_person()
    # With another's gift code a good card would be redeemed: whoever guesses has none.
    card = an_unknown_code() if whose == "another's" else await street.a_code()
    if whose == "of somebody further on":
        await street.redeem(other, await street.a_code(), person.gift_code)
    known, unknown = (person if whose == "one's own" else other).gift_code, await an_unknown_gift_code(street)
    await street.compare(
        f"gift code, {whose}",
        lambda: street.redeem(person, card, known),
        lambda: street.redeem(person, card, unknown),
    )
