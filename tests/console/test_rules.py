"""What the specification says of the console: its pages are there, and a key that is made on them is a key."""

import pytest

from tests.client import ask
from tests.console.browser import Browser
from tests.console.test_keys import key_in, make
from tests.customers import Customers
from tests.people import Person
from tools.node import Node

# The page, and what of it a customer came for.
PAGES = {
    "/top-up": 'name="code"',
    "/keys": 'href="/keys/new"',
    "/usage": 'action="/usage"',
    "/partner": "Invite others",
}


@pytest.mark.rule("S2.2")
async def test_a_key_that_is_made_in_the_console_is_taken_by_the_gateway(
    signed_in: Browser, person: Person, townsfolk: Customers, node: Node
) -> None:
    await townsfolk.credit(person.account_id, "3")
    key = key_in(await make(signed_in))
    assert key.startswith("sk-")
    answer = ask(node, "/v2/account/balance", key=key)
    assert (answer.status, answer.json["balance"]["remained_cash"]) == (200, 3.0)
    assert ask(node, "/v1/models", key=key).status == 200


@pytest.mark.rule("S5.1")
@pytest.mark.parametrize(("path", "has"), PAGES.items(), ids=PAGES)
async def test_the_console_has_the_pages_that_customers_need_in_its_side_bar(
    signed_in: Browser, path: str, has: str
) -> None:
    home = await signed_in.get("/")
    assert f'<a class="item" href="{path}"' in home.text
    page = await signed_in.get(path)
    assert page.status == 200
    assert has in page.text
