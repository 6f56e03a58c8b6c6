"""People who sign up, read their mail and sign in, through the product's own use-cases."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from uuid import uuid4

import asyncpg
import msgspec
import pyotp
from argon2 import PasswordHasher

from tests.mailbox import SENDER, Mailbox
from tollkeeper.accounts.people.front_desk import FrontDesk, RequestOrigin
from tollkeeper.accounts.people.second_factor import confirm_second_factor, propose_second_factor
from tollkeeper.accounts.people.sessions import session_setting_up
from tollkeeper.accounts.people.sign_in import Credentials, SignedIn, sign_in
from tollkeeper.accounts.people.sign_up import SignUpWish, request_sign_up, verify_sign_up
from tollkeeper.accounts.people.staff import set_role
from tollkeeper.app.database import opened
from tollkeeper.app.office import office
from tollkeeper.core.people.logins import Actor, Role
from tollkeeper.jobs.send_mail import Postman
from tollkeeper.mail.smtp import SmtpMailer, route_of
from tollkeeper.settings import Settings
from tollkeeper.storage.people.outbox import SqlOutbox
from tollkeeper.storage.people.password_hashes import Argon2Hashes
from tollkeeper.storage.postgres.database import DatabaseRole

PASSWORD = "correct horse battery"
# Of argon2id too, but for tests that have many passwords.
QUICK = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)
CONSOLE_URL = "https://console.example"
AN_OPERATOR = Actor("cli:an operator", Role.OPERATOR)
SUPPORT = Actor("account:7", Role.SUPPORT)
A_CUSTOMER = Actor("account:8", Role.CUSTOMER)


class Person(msgspec.Struct, frozen=True):
    account_id: int
    email: str
    password: str


class Enrolled(msgspec.Struct, frozen=True):
    """With a second factor."""

    token: str
    secret: str
    # By which it was confirmed.
    spent_code: str
    recovery_codes: tuple[str, ...]

    def code(self) -> str:
        """What the app shows next: the code of this moment may be the one that is spent."""
        return pyotp.TOTP(self.secret).at(_now(), counter_offset=1)


async def until_waiting(owner: asyncpg.Connection, sessions: int) -> None:
    """Until that many sessions of this database wait for a lock that somebody has."""
    waiting = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    deadline = time.monotonic() + 10
    while await owner.fetchval(waiting) < sessions:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)
        # Within a transaction the server would show the same picture again.
        await owner.execute("select pg_stat_clear_snapshot()")


def an_email() -> str:
    return f"{uuid4().hex[:12]}@people.example"


class People:
    def __init__(self, desk: FrontDesk, postman: Postman, mailbox: Mailbox) -> None:
        self.desk = desk
        self.postman = postman
        self.mailbox = mailbox

    async def sign_up(self, email: str, *, gift_code: str = "") -> None:
        """As far as the mail."""
        wish = SignUpWish(email=email, name="A person", gift_code=gift_code)
        await request_sign_up(self.desk, wish, RequestOrigin())
        await self.postman.round()

    async def a_person(self, *, role: Role = Role.CUSTOMER, password: str = PASSWORD, gift_code: str = "") -> Person:
        """Somebody with an account."""
        email = an_email()
        await self.sign_up(email, gift_code=gift_code)
        account_id = await verify_sign_up(self.desk, self.mailbox.last_token(email), password)
        await set_role(self.desk, account_id, role, by=AN_OPERATOR)
        return Person(account_id, email, password)

    async def sign_in(self, person: Person, *, code: str = "", password: str | None = None, ip: str = "") -> SignedIn:
        given = Credentials(email=person.email, password=password or person.password, code=code)
        return await sign_in(self.desk, given, RequestOrigin(ip=ip, agent="a test"))

    async def enrol(self, person: Person) -> Enrolled:
        """Give somebody a second factor."""
        session = await session_setting_up(self.desk, (await self.sign_in(person)).token)
        proposal = await propose_second_factor(self.desk, session, person.password)
        code = pyotp.TOTP(proposal.secret).at(_now())
        confirmed = await confirm_second_factor(self.desk, session, code)
        return Enrolled(confirmed.token, proposal.secret, code, confirmed.recovery_codes)


@asynccontextmanager
async def people_of(settings: Settings, mailbox: Mailbox) -> AsyncIterator[People]:
    async with office(settings) as desk, opened(settings, DatabaseRole.WORKER) as database:
        mailer = SmtpMailer(route_of(f"smtp://127.0.0.1:{mailbox.port}"), sender=SENDER)
        postman = Postman(SqlOutbox(database, secrets.choice), mailer, console_url=CONSOLE_URL)
        front_desk = msgspec.structs.replace(desk.front_desk, hashes=Argon2Hashes(QUICK))
        yield People(front_desk, postman, mailbox)


def _now() -> datetime:
    return datetime.now(UTC)
