"""The operator API over a real database, in this process."""

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from tests.conftest import Stores, variables
from tests.office.node_eyes import NodeEyes
from tests.office.serving import Served, made_key
from tests.office.staff import StaffClient, a_key
from tollkeeper.app.database import opened
from tollkeeper.app.office import office_of
from tollkeeper.app.parts import notifier_of
from tollkeeper.console.admin.application import PREFIX, AdminDesk, admin
from tollkeeper.console.turns import Turns
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.desks import Office
from tollkeeper.settings import Settings
from tollkeeper.storage.people.operator_requests import SqlRequestBook
from tollkeeper.storage.postgres.database import Database, DatabaseRole
from tollkeeper.storage.postgres.out_of_range import refusal_in_words
from tools.console import Console


@pytest.fixture
async def console_database(settings: Settings) -> AsyncIterator[Database]:
    async with opened(settings, DatabaseRole.CONSOLE) as database:
        yield database


@pytest.fixture
async def office(settings: Settings, console_database: Database) -> AsyncIterator[Office]:
    notifier = notifier_of(settings)
    yield office_of(settings, console_database, notifier, actor="a test")
    await notifier.close()


@pytest.fixture
def api(office: Office, console_database: Database) -> Starlette:
    desk = AdminDesk(office, SqlRequestBook(console_database), (), refusal_in_words, Turns())
    return Starlette(routes=[Mount(PREFIX, admin(desk))])


@pytest.fixture
async def owner_client(api: Starlette, office: Office) -> StaffClient:
    """With every right."""
    return StaffClient(api, await a_key(office, f"owner-{uuid4().hex[:8]}", Scope.EVERYTHING))


@pytest.fixture
async def node_eyes(settings: Settings) -> AsyncIterator[NodeEyes]:
    """A node that has read the catalog, and learns of changes by its feed."""
    async with opened(settings, DatabaseRole.GATEWAY) as gateway:
        eyes = NodeEyes(gateway)
        await eyes.learns()
        yield eyes


@pytest.fixture(scope="module")
async def served(stores: Stores) -> AsyncIterator[Served]:
    settings = await variables(stores)
    keys = {scope: made_key(settings, f"key-of-{scope.value}", "--scope", scope.value) for scope in Scope}
    with Console(settings) as console:
        yield Served(console.base, console.port, settings, keys)
    await stores.drop(settings["TOLLKEEPER_DATABASE_URL"])
