"""A whole deployment for people: stores, provider, node, jobs, mailbox, and the console behind HTTPS."""

import asyncio
import re
import secrets
import tempfile
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from decimal import Decimal
from email import message_from_bytes
from email.policy import default
from itertools import count
from typing import Any, TypeVar

import msgspec
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP

from proofs.rig.console.tls import TlsDoor
from proofs.rig.customers import PROVIDER_KEY
from proofs.rig.database import connect, migrated
from proofs.rig.deployment import deployment
from proofs.rig.patience import came_true
from tollkeeper.accounts.money.codes import BatchWish, export_codes, make_batch
from tollkeeper.accounts.people.sign_up import SignUpWish, open_account
from tollkeeper.app.office import office
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.money.amounts import quota_from_usd
from tollkeeper.core.partner.plan import micros_from_usd
from tollkeeper.office.desks import Office
from tollkeeper.ports import Credit, NewModel, NewPrice
from tollkeeper.settings import load
from tools.accounts import add_accounts, without_limits
from tools.console import Console
from tools.node import Node, jobs
from tools.services import Postgres
from tools.services.process import free_port
from tools.simulator import Simulator

PASSWORD = "correct horse battery"  # noqa: S105 (of people who live for some minutes)
NOT_THE_PASSWORD = "a donkey staple"  # noqa: S105
MODELS = (
    NewModel(id="gpt-4o", kind=Kind.CHAT, price=NewPrice(model=Decimal("1.25"), completion=Decimal(4))),
    NewModel(id="gpt-4o-mini", kind=Kind.CHAT, price=NewPrice(model=Decimal("0.075"), completion=Decimal(4))),
    NewModel(id="dall-e-3", kind=Kind.IMAGE, price=NewPrice(model=Decimal(20_000), variant="1024x1024")),
)
MONTHS = 9
MAIL_SECONDS = 30.0
BILLING_HOST = "billing.localhost"
Result = TypeVar("Result")


class Person(msgspec.Struct, frozen=True):
    account_id: int
    email: str
    name: str
    # Everybody has a network of their own: attempts and gifts are counted by it.
    ip: str
    password: str = PASSWORD


class PostBox(Controller):
    """A mail server that keeps what it is given, from start to stop."""

    def __init__(self) -> None:
        self.mails: list[tuple[list[str], str]] = []
        super().__init__(self, hostname="127.0.0.1", port=free_port())

    def factory(self) -> SMTP:
        return SMTP(self)

    async def handle_DATA(self, *given: Any) -> str:  # noqa: N802 (the server's name for it)
        envelope = given[-1]
        text = message_from_bytes(envelope.content, policy=default).get_content()
        self.mails.append((list(envelope.rcpt_tos), text))
        return "250 OK"

    def to(self, email: str) -> list[str]:
        return [text for recipients, text in self.mails if email in recipients]


class PlainConsole(Console):
    """Asked straight, behind the door by which people come."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        super().__init__(settings)
        self.base = f"http://127.0.0.1:{self.port}"


class Place:
    def __init__(self, stack: ExitStack) -> None:
        """Everything it starts is stopped with `stack`."""
        self._hand = stack.enter_context(ThreadPoolExecutor(1))
        self.postgres = Postgres()
        self.mailbox = PostBox()
        self.door = stack.enter_context(TlsDoor())
        self.log_site = stack.enter_context(tempfile.TemporaryDirectory(prefix="tollkeeper-log-site-"))
        node_port = free_port()
        self.settings = deployment(stack, postgres=self.postgres) | {
            "TOLLKEEPER_PORT": str(node_port),
            "TOLLKEEPER_WORKERS": "1",
            "TOLLKEEPER_CONSOLE_URL": self.door.url,
            "TOLLKEEPER_CONSOLE_GATEWAY_URL": f"http://127.0.0.1:{node_port}",
            # The door passes on what browsers say, so that each of them can have a network of its own.
            "TOLLKEEPER_TRUSTED_PROXIES": "127.0.0.1",
            "TOLLKEEPER_SMTP_URL": f"smtp://127.0.0.1:{self.mailbox.port}",
            "TOLLKEEPER_MAIL_FROM": "Tollkeeper <no-reply@tollkeeper.example>",
            "TOLLKEEPER_BILLING_HOSTS": BILLING_HOST,
            "TOLLKEEPER_LOG_SITE": f"file://{self.log_site}",
            # Receivers of webhooks are on this machine.
            "TOLLKEEPER_PRIVATE_WEBHOOKS": "true",
        }
        self._numbers = count(1)
        self._stack = stack

    def open(self) -> None:
        stack = self._stack
        self.mailbox.start()
        stack.callback(self.mailbox.stop)
        self.simulator = stack.enter_context(Simulator(key=PROVIDER_KEY))
        url = migrated(self.settings["TOLLKEEPER_DATABASE_URL"])
        self.wait_for(without_limits(url))
        self.wait_for(add_accounts(self.settings, self.simulator.base, PROVIDER_KEY, 1))
        self.operate(_enter_models)
        self.node = stack.enter_context(Node(self.settings))
        self.console = stack.enter_context(PlainConsole(self.settings))
        self.door.behind = self.console.port
        stack.enter_context(jobs(self.settings, self.node))

    @property
    def url(self) -> str:
        """Of the console, as people have it."""
        return self.door.url

    def wait_for(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Playwright has this thread's event loop; so whatever else has to be awaited is, in another."""
        return self._hand.submit(asyncio.run, work).result()

    def operate(
        self, act: Callable[[Office], Coroutine[Any, Any, Result]], *, settings: Mapping[str, str] | None = None
    ) -> Result:
        """Do what an operator does with commands, in this process. `settings`: of another deployment than this one."""

        async def do() -> Result:
            async with office(load(settings or self.settings)) as desk:
                return await act(desk)

        return self.wait_for(do())

    def rows(self, sql: str, *values: object) -> list[Any]:
        """As the owner of the database."""

        async def ask() -> list[Any]:
            connection = await connect(self.settings["TOLLKEEPER_DATABASE_URL"])
            try:
                found: list[Any] = await connection.fetch(sql, *values)
                return found
            finally:
                await connection.close()

        return self.wait_for(ask())

    def value(self, sql: str, *values: object) -> Any:
        return self.rows(sql, *values)[0][0]

    def a_person(self, *, usd: int = 10, name: str = "Ada") -> Person:
        """With an account, a login, and so much quota."""
        return self.people(1, usd=usd, name=name)[0]

    def people(self, how_many: int, *, usd: int = 10, name: str = "Ada") -> list[Person]:
        async def arrive(desk: Office) -> list[Person]:
            return [await self._arrive(desk, usd, name) for _ in range(how_many)]

        return self.operate(arrive)

    async def _arrive(self, desk: Office, usd: int, name: str) -> Person:
        email, ip = self.new_email(), self.new_ip()
        wish = SignUpWish(email=email, name=name)
        account_id = await open_account(desk.front_desk, wish, PASSWORD, by=desk.operator)
        if usd:
            amount = quota_from_usd(Decimal(usd))
            credit = Credit(account_id=account_id, amount=amount, source="operator", source_id=email, months=MONTHS)
            await desk.accounts.credit(credit, actor="proof")
        return Person(account_id, email, name, ip)

    def new_email(self) -> str:
        return f"person-{next(self._numbers)}@people.example"

    def new_ip(self) -> str:
        number = next(self._numbers)
        return f"10.{number >> 8 & 255}.{number & 255}.7"

    def codes(self, how_many: int, usd: int) -> Sequence[str]:
        """Redemption codes, as they are sold."""
        wish = BatchWish(codes=how_many, usd_micros=micros_from_usd(Decimal(usd)), months=MONTHS)

        async def make(desk: Office) -> Sequence[str]:
            opened = await make_batch(wish, secrets.token_hex(16), desk.codes, by=desk.operator)
            return await export_codes(opened.batch_id, secrets.choice, desk.codes, by=desk.operator)

        return self.operate(make)

    def link_to(self, email: str, path: str) -> str:
        """The last link to a page of the console that somebody was sent, once it came."""
        link = re.compile(re.escape(self.url + path) + r"\?token=\w+")

        def found() -> list[str]:
            return [each for text in self.mailbox.to(email) for each in link.findall(text)]

        assert came_true(lambda: bool(found()), within_seconds=MAIL_SECONDS), f"no mail with {path} came to {email}"
        return found()[-1]


async def _enter_models(desk: Office) -> None:
    for model in MODELS:
        await desk.catalog.add_model(model, actor="proof")
