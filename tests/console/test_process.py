"""The console as a process has it: put together from settings, with connections of its own."""

import asyncio
import logging

import asyncpg
import msgspec
import pytest

from tests.console.browser import ORIGIN, Browser
from tests.console.conftest import enter
from tests.people import People
from tollkeeper.app.console import STATEMENT_CONNECTIONS, console
from tollkeeper.settings import Settings

WAITING = "select count(*) from pg_locks where not granted and relation = 'entry'::regclass"


@pytest.mark.parametrize(("proxies", "warned"), [((), True), (("10.0.0.0/8",), False)], ids=["none", "one"])
def test_a_console_behind_a_proxy_that_it_does_not_know_says_what_comes_of_it(
    town_settings: Settings, caplog: pytest.LogCaptureFixture, proxies: tuple[str, ...], *, warned: bool
) -> None:
    with caplog.at_level(logging.WARNING):
        console(msgspec.structs.replace(town_settings, console_url=ORIGIN, trusted_proxies=proxies))
    assert ("TOLLKEEPER_TRUSTED_PROXIES is empty" in caplog.text) == warned


async def test_statements_that_take_long_keep_no_other_page_waiting(
    town_settings: Settings, people: People, town_owner: asyncpg.Connection
) -> None:
    settings = msgspec.structs.replace(town_settings, console_url=ORIGIN, database_connections=2)
    application = console(settings)
    async with application.router.lifespan_context(application):
        browsers = [Browser(application) for _ in range(3)]
        for browser in browsers:
            await enter(browser, await people.a_person())
        async with town_owner.transaction():
            await town_owner.execute("lock table entry in access exclusive mode")
            asked = [asyncio.create_task(each.get("/statements")) for each in browsers[:2] for _ in range(2)]
            async with asyncio.timeout(20):
                while await town_owner.fetchval(WAITING) < STATEMENT_CONNECTIONS:
                    pass
            assert (await browsers[2].get("/keys")).status == 200
        assert [(await each).status for each in asked] == [200] * 4
