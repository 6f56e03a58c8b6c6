"""A form that moves money counts once, however often it is sent."""

import asyncio

import pytest
from starlette.applications import Starlette
from starlette.responses import Response

from tests.console.browser import Browser
from tests.console.conftest import enter
from tests.people import Person
from tollkeeper.console.application import console
from tollkeeper.console.desks import Desks, Site
from tollkeeper.console.pages import post
from tollkeeper.console.seals import Seals
from tollkeeper.console.table import PAGES
from tollkeeper.console.visit import Visit

PATH = "/a-page-that-moves-money"


class Till:
    """Counts what it is told to pay."""

    def __init__(self) -> None:
        self.paid = 0

    async def pay(self, visit: Visit) -> Response:
        self.paid += 1
        return visit.go("/")


@pytest.fixture
def till() -> Till:
    return Till()


@pytest.fixture
def house(desks: Desks, site: Site, till: Till) -> Starlette:
    return console(desks, site, pages=[*PAGES, post(PATH, till.pay, once=True)])


def form_id(site: Site, browser: Browser) -> str:
    return Seals(site.secret).form_id(browser.cookies["__Host-tollkeeper"], PATH)


async def test_of_ten_at_once_one_counts(house: Starlette, site: Site, person: Person, till: Till) -> None:
    browser = Browser(house)
    await enter(browser, person)
    given = form_id(site, browser)
    answers = await asyncio.gather(*(browser.post(PATH, form_id=given) for _ in range(10)))
    assert sorted(answer.goes_to for answer in answers) == ["/", *[f"{PATH}?done=sent-before"] * 9]
    assert till.paid == 1


async def test_another_form_counts_too(house: Starlette, site: Site, person: Person, till: Till) -> None:
    browser = Browser(house)
    await enter(browser, person)
    for _ in range(2):
        assert (await browser.post(PATH, form_id=form_id(site, browser))).goes_to == "/"
        await browser.get("/")
    assert till.paid == 2


@pytest.mark.parametrize("given", ["", "x", "1-0.0", "9999999999-00.aa", "\N{SNOWMAN}.x"])
async def test_an_id_of_ones_own_making_counts_for_nothing(
    house: Starlette, person: Person, till: Till, given: str
) -> None:
    browser = Browser(house)
    await enter(browser, person)
    assert (await browser.post(PATH, form_id=given)).status == 403
    assert till.paid == 0


async def test_anothers_form_counts_for_nothing(
    house: Starlette, site: Site, signed_in: Browser, person: Person, till: Till
) -> None:
    browser = Browser(house)
    await enter(browser, person)
    assert (await browser.post(PATH, form_id=form_id(site, signed_in))).status == 403
    assert till.paid == 0
