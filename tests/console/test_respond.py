"""What goes wrong behind a page is told as what it is."""

import msgspec
import pytest

from tests.console.browser import Browser
from tests.people import People, Person
from tollkeeper.console.application import console
from tollkeeper.console.desks import Desks, Site
from tollkeeper.core.errors import StoreUnavailable
from tollkeeper.ports import NotOnFile
from tollkeeper.ports.customers.wallet import Wallet


class GoneForGood(NotOnFile):
    """What was there once."""


class EmptyPockets:
    """Wallets of which none can be had."""

    def __init__(self, problem: Exception) -> None:
        self.problem = problem

    async def of(self, _: int) -> Wallet:
        raise self.problem


@pytest.mark.parametrize(
    ("problem", "status"),
    [(StoreUnavailable(), 503), (NotOnFile("?"), 404), (GoneForGood("?"), 404)],
    ids=["a store", "not on file", "a kind of it"],
)
async def test_a_problem_has_the_status_of_its_family(
    desks: Desks, site: Site, people: People, person: Person, problem: Exception, status: int
) -> None:
    browser = Browser(console(msgspec.structs.replace(desks, wallets=EmptyPockets(problem)), site))
    browser.cookies["__Host-tollkeeper"] = (await people.sign_in(person)).token
    assert (await browser.get("/")).status == status
