"""What is done to a key on its pages, as real calls at a node meet it."""

import asyncio
import re

import asyncpg
import pytest
from openai import OpenAI

from tests.chat import chat, receipt_of
from tests.client import Answer as Called
from tests.client import ask
from tests.console.browser import Answer, Browser
from tests.console.calls import in_words
from tests.customers import Customers
from tests.people import Person
from tollkeeper.console.desks import Desks
from tollkeeper.ports import KeyOnFile
from tollkeeper.storage.usage.receipts import SqlReceipts
from tools.node import Node
from tools.services.process import wait_until_async

KEY = re.compile(r'data-copy="(sk-[0-9A-Za-z]{49})"')
# Too little for any call, and enough for all of a test.
TOO_LITTLE, ENOUGH = "0.00000001", "5"

pytestmark = pytest.mark.usefixtures("simulator")


class KeyInUse:
    """A key that was made on the page, its page, and the node that it is used at."""

    def __init__(self, browser: Browser, node: Node, desks: Desks, key: KeyOnFile, model: str, text: str) -> None:
        self.browser = browser
        self.node = node
        self._desks = desks
        self._account_id = key.account_id
        self.key_id = key.key_id
        self.path = f"/keys/{key.key_id}"
        self.model = model
        self.text = text

    async def on_file(self) -> KeyOnFile:
        [key] = await self._desks.keys.of_account(self._account_id)
        return key

    async def call(self, text: str = "") -> Called:
        return await asyncio.to_thread(chat, self.node, text or self.text, self.model, "[[tokens=3]]")

    async def until_told(self, status: int, code: str = "", text: str = "") -> None:
        """Until a call is answered like that."""

        async def is_told() -> bool:
            answer = await self.call(text)
            told = "" if answer.status == 200 else answer.error["code"]
            return (answer.status, told) == (status, code)

        await wait_until_async(is_told, within_seconds=30)

    async def change(self, **fields: str) -> None:
        await self.browser.get(self.path)
        assert (await self.browser.post(self.path, name="in use", **fields)).goes_to == "/keys?done=key-changed"

    async def act(self, verb: str, **fields: str) -> Answer:
        await self.browser.get(self.path)
        return await self.browser.post(f"{self.path}/{verb}", **fields)

    async def rotate(self, keep_hours: str) -> str:
        form = await self.browser.get(f"{self.path}/rotate")
        form_id = form.hidden()["form_id"]
        return shown(await self.browser.post(f"{self.path}/rotate", form_id=form_id, keep_hours=keep_hours))

    async def listed(self) -> str:
        return in_words((await self.browser.get("/keys")).text)


def shown(answer: Answer) -> str:
    found = KEY.search(answer.text)
    assert found is not None
    return found[1]


@pytest.fixture
async def in_use(signed_in: Browser, person: Person, townsfolk: Customers, desks: Desks, node: Node) -> KeyInUse:
    """With quota enough, without limits."""
    await townsfolk.credit(person.account_id, "10")
    model = await townsfolk.a_model()
    form_id = (await signed_in.get("/keys/new")).hidden()["form_id"]
    text = shown(await signed_in.post("/keys/new", form_id=form_id, name="in use"))
    [key] = await desks.keys.of_account(person.account_id)

    async def offers_the_model() -> bool:
        return model in (await asyncio.to_thread(ask, node, "/v1/models", key=text)).text.decode()

    await wait_until_async(offers_the_model, within_seconds=30)
    return KeyInUse(signed_in, node, desks, key, model, text)


@pytest.mark.rule("S2.2", "S3.1")
async def test_a_key_made_in_the_console_is_used_by_the_official_sdk_and_its_call_is_seen_on_the_pages(
    in_use: KeyInUse, receipts: SqlReceipts
) -> None:
    def say_hello() -> str:
        with OpenAI(base_url=f"{in_use.node.base}/v1", api_key=in_use.text) as client:
            answer = client.chat.completions.with_raw_response.create(
                model=in_use.model, messages=[{"role": "user", "content": "[[tokens=3]]"}]
            )
            assert answer.parse().choices[0].message.content
            return answer.headers["x-request-id"]

    request_id = await asyncio.to_thread(say_hello)
    receipt = await receipt_of(receipts, request_id)
    page = in_words((await in_use.browser.get(f"/usage/{request_id}")).text)
    assert in_use.model in page
    assert f"{receipt.charged // 1_000_000:,} quota tokens" in page
    assert "<$0.01 in all no limit" in await in_use.listed()


@pytest.mark.parametrize(
    ("field", "code", "full"),
    [
        ("quota", "insufficient_key_quota", "of <$0.01 in all"),
        ("daily_budget", "key_budget_exceeded", "of <$0.01 today"),
        ("monthly_budget", "key_budget_exceeded", "of <$0.01 this month"),
    ],
)
async def test_what_a_key_may_spend_holds_at_the_node_and_can_be_raised(
    in_use: KeyInUse, receipts: SqlReceipts, field: str, code: str, full: str
) -> None:
    await in_use.change(**{field: TOO_LITTLE})
    await in_use.until_told(403, code)
    assert full in await in_use.listed()
    await in_use.change(**{field: ENOUGH})
    answer = await in_use.call()
    assert answer.status == 200
    charged = (await receipt_of(receipts, answer)).charged
    key = await in_use.on_file()
    counted = {"quota": key.used, "daily_budget": key.counted_today, "monthly_budget": key.counted_this_month}
    assert counted[field] == charged
    assert full.replace("<$0.01", "$5.00") in await in_use.listed()


async def test_a_key_for_other_models_or_networks_is_refused_until_it_is_for_all(
    in_use: KeyInUse, townsfolk: Customers
) -> None:
    await in_use.change(which_models="some", model=await townsfolk.a_model())
    await in_use.until_told(404, "model_not_found")
    await in_use.change(networks="203.0.113.0/24")
    await in_use.until_told(403, "network_not_allowed")
    await in_use.change(networks="203.0.113.0/24 127.0.0.1", which_models="some", model=in_use.model)
    await in_use.until_told(200)


async def test_a_key_works_until_its_last_day_is_over(in_use: KeyInUse, town_owner: asyncpg.Connection) -> None:
    await in_use.change(expires_on="2099-12-31")
    assert (await in_use.call()).status == 200
    assert "until 1 Jan 2100" in await in_use.listed()
    passed = "update api_key set expires_at = now() - interval '1 s' where id = $1"
    await town_owner.execute(passed, in_use.key_id)
    await in_use.until_told(401, "expired_api_key")
    assert "expired since" in await in_use.listed()


async def test_a_rotated_key_works_beside_its_old_text_for_as_long_as_was_chosen(in_use: KeyInUse) -> None:
    second = await in_use.rotate("24")
    assert [(await in_use.call(text)).status for text in (in_use.text, second)] == [200, 200]
    assert "old key until" in await in_use.listed()
    third = await in_use.rotate("0")
    assert (await in_use.call(third)).status == 200
    for text in (in_use.text, second):
        await in_use.until_told(401, "invalid_api_key", text)


async def test_a_paused_key_is_refused_until_it_is_resumed_and_a_revoked_one_for_ever(in_use: KeyInUse) -> None:
    assert (await in_use.act("pause")).goes_to == "/keys?done=key-paused"
    await in_use.until_told(401, "paused_api_key")
    listed = await in_use.listed()
    assert "paused since" in listed
    assert "Resume" in listed
    assert (await in_use.act("resume")).goes_to == "/keys?done=key-resumed"
    await in_use.until_told(200)
    assert "Resume" not in await in_use.listed()
    assert (await in_use.act("revoke")).goes_to == "/keys?done=key-revoked"
    await in_use.until_told(401, "revoked_api_key")
