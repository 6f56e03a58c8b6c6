"""One account has a few pages made at the same time; others do not wait for it."""

import asyncio

import pytest
from starlette.applications import Starlette
from starlette.responses import Response

from tests.console.browser import Browser
from tests.console.conftest import enter
from tests.people import People, Person
from tollkeeper.console.application import console
from tollkeeper.console.desks import Desks, Site
from tollkeeper.console.pages import get
from tollkeeper.console.table import PAGES
from tollkeeper.console.turns import AT_ONCE, WAITING_MOST, TooManyAtOnce, Turns
from tollkeeper.console.visit import Visit

PATH = "/a-page-that-takes-long"


class SlowPage:
    """Is made when it may be."""

    def __init__(self) -> None:
        self.may = asyncio.Event()
        self.begun = asyncio.Semaphore(0)
        self.running = self.most = 0

    async def make(self, visit: Visit) -> Response:
        self.running += 1
        self.most = max(self.most, self.running)
        self.begun.release()
        await self.may.wait()
        self.running -= 1
        return visit.go("/")


@pytest.fixture
def slow() -> SlowPage:
    return SlowPage()


@pytest.fixture
def house(desks: Desks, site: Site, slow: SlowPage) -> Starlette:
    return console(desks, site, pages=[*PAGES, get(PATH, slow.make)])


async def test_who_asks_for_much_at_once_waits_and_others_do_not(
    house: Starlette, person: Person, people: People, slow: SlowPage
) -> None:
    greedy, other = Browser(house), Browser(house)
    await enter(greedy, person)
    await enter(other, await people.a_person())
    asked = [asyncio.create_task(greedy.get(PATH)) for _ in range(AT_ONCE + WAITING_MOST + 5)]
    for _ in range(AT_ONCE):
        await slow.begun.acquire()
    assert (await other.get("/keys")).status == 200
    done, _ = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED, timeout=10)
    slow.may.set()
    answers = [answer.status for answer in await asyncio.gather(*asked)]
    assert {each.result().status for each in done} == {429}
    assert (answers.count(303), answers.count(429)) == (AT_ONCE + WAITING_MOST, 5)
    assert slow.most == AT_ONCE
    assert (await greedy.get("/keys")).status == 200


async def test_an_export_waits_however_many_wait() -> None:
    turns = Turns()
    inside = [turns.of(1, waiting_most=None) for _ in range(AT_ONCE)]
    for turn in inside:
        await turn.__aenter__()

    async def wait(waiting_most: int | None) -> None:
        async with turns.of(1, waiting_most=waiting_most):
            pass

    exports = [asyncio.create_task(wait(None)) for _ in range(WAITING_MOST + 1)]
    await asyncio.sleep(0)
    with pytest.raises(TooManyAtOnce):
        await wait(WAITING_MOST)
    for turn in inside:
        await turn.__aexit__(None, None, None)
    await asyncio.gather(*exports)
    await wait(0)
