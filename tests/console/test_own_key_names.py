"""Keys that we have made for people are named in their language, wherever a page names one."""

import pytest

from tests.console.browser import Browser
from tests.console.calls import in_words
from tests.people import Person
from tollkeeper.console.desks import Desks
from tollkeeper.console.key_names import key_name

ENGLISH = "Faucet"
CHINESE = key_name(ENGLISH, "zh")


@pytest.fixture
async def faucet_key(signed_in: Browser, person: Person, desks: Desks) -> int:
    form = await signed_in.get("/faucet")
    await signed_in.post("/faucet", form_id=form.hidden()["form_id"])
    [key] = await desks.keys.of_account(person.account_id)
    assert key.name == ENGLISH
    return key.key_id


@pytest.mark.parametrize("path", ["/keys", "/keys/{}/rotate", "/keys/{}/revoke"])
async def test_pages_of_keys_name_it_in_chinese(signed_in: Browser, faucet_key: int, path: str) -> None:
    page = await signed_in.get(path.format(faucet_key) + "?lang=zh")
    assert CHINESE in page.text
    assert ENGLISH not in page.text


async def test_its_own_page_names_it_in_chinese_and_keeps_the_name_in_its_field(
    signed_in: Browser, faucet_key: int
) -> None:
    page = await signed_in.get(f"/keys/{faucet_key}?lang=zh")
    assert f"“{CHINESE}”" in page.text
    assert f'value="{ENGLISH}"' in page.text


@pytest.mark.usefixtures("faucet_key")
async def test_home_names_the_key_that_a_lot_is_bound_to_in_chinese(signed_in: Browser) -> None:
    page = in_words((await signed_in.get("/?lang=zh")).text)
    assert f"“{CHINESE}”" in page
    assert ENGLISH not in page
