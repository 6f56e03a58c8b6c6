"""People with logins, and the mail server that they read their mail from."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.mailbox import Mailbox
from tests.people import People, people_of
from tollkeeper.settings import Settings


@pytest.fixture(scope="session")
def mailbox() -> Iterator[Mailbox]:
    server = Mailbox()
    server.start()
    yield server
    server.stop()


@pytest.fixture
async def people(settings: Settings, mailbox: Mailbox) -> AsyncIterator[People]:
    async with people_of(settings, mailbox) as found:
        yield found
