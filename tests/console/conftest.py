"""The console over real stores, in this process. All tests share one database, and each has people of its own."""

from collections.abc import AsyncIterator, Iterator

import asyncpg
import msgspec
import pytest
from starlette.applications import Starlette

from tests.client import ask
from tests.console.browser import ORIGIN, Browser
from tests.customers import DEAR_OUTPUT, Customer, Customers
from tests.mailbox import Mailbox
from tests.people import People, Person, people_of
from tollkeeper.app.console import desks_of, site_of
from tollkeeper.app.database import opened
from tollkeeper.app.parts import notifier_of
from tollkeeper.console.application import console
from tollkeeper.console.desks import Desks, Site
from tollkeeper.settings import Settings, load
from tollkeeper.storage.postgres.changes import Changes
from tollkeeper.storage.postgres.database import DatabaseRole
from tools.console import Console
from tools.node import Node
from tools.services.process import wait_until


@pytest.fixture(scope="session")
def mailbox() -> Iterator[Mailbox]:
    server = Mailbox()
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def town_settings(town: tuple[dict[str, str], Customers]) -> Settings:
    return load(town[0])


@pytest.fixture(scope="session")
async def people(town_settings: Settings, mailbox: Mailbox) -> AsyncIterator[People]:
    async with people_of(town_settings, mailbox) as found:
        yield found


@pytest.fixture(scope="session")
async def desks(town_settings: Settings, people: People) -> AsyncIterator[Desks]:
    """The console's own, with hashes that tests have time for."""
    async with opened(town_settings, DatabaseRole.CONSOLE) as database:
        notifier = notifier_of(town_settings)
        found = desks_of(town_settings, database, Changes(database), notifier)
        hashes = people.desk.hashes
        yield msgspec.structs.replace(found, front_desk=msgspec.structs.replace(found.front_desk, hashes=hashes))
        await found.chat.gateway.close()
        await notifier.close()


@pytest.fixture(scope="session")
def site(town_settings: Settings) -> Site:
    return msgspec.structs.replace(site_of(town_settings), console_url=ORIGIN, sends_mail=True)


@pytest.fixture(scope="session")
def application(desks: Desks, site: Site) -> Starlette:
    return console(desks, site)


@pytest.fixture
def browser(application: Starlette) -> Browser:
    """A stranger's."""
    return Browser(application)


@pytest.fixture
async def person(people: People) -> Person:
    return await people.a_person()


@pytest.fixture
async def signed_in(application: Starlette, person: Person) -> Browser:
    """Of `person`."""
    found = Browser(application)
    await enter(found, person)
    return found


@pytest.fixture
async def town_owner(town_settings: Settings) -> AsyncIterator[asyncpg.Connection]:
    """Of the database that the console reads."""
    connection = await asyncpg.connect(town_settings.database_url, server_settings={"search_path": "tollkeeper"})
    yield connection
    await connection.close()


@pytest.fixture
async def key_holder(townsfolk: Customers, person: Person) -> Customer:
    """`person`, with a key."""
    return await townsfolk.a_key(person.account_id)


async def enter(browser: Browser, person: Person) -> None:
    await browser.get("/sign-in")
    await browser.post("/sign-in", email=person.email, password=person.password)
    assert browser.page.status == 303
    await browser.follow()
    assert browser.page.status == 200


@pytest.fixture(scope="session")
def chat_console(town: tuple[dict[str, str], Customers], node: Node) -> Iterator[Console]:
    """Two processes: whatever one of them knows, the other may not."""
    more = {"TOLLKEEPER_CONSOLE_GATEWAY_URL": node.base, "TOLLKEEPER_CONSOLE_WORKERS": "2"}
    with Console(town[0] | more) as running:
        yield running


@pytest.fixture(scope="session")
async def talker(node: Node, townsfolk: Customers) -> str:
    found = await townsfolk.a_model(price=DEAR_OUTPUT)
    key = (await townsfolk.a_customer()).key
    wait_until(lambda: found in ask(node, "/v1/models", key=key).text.decode(), within_seconds=20)
    return found


@pytest.fixture
async def chatter(people: People, townsfolk: Customers) -> Person:
    """With 10 USD."""
    person = await people.a_person()
    await townsfolk.credit(person.account_id, "10")
    return person
