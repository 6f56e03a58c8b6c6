"""Pages of webhooks: the secret once, a test event, and why a webhook is off."""

import re

import pytest
from starlette.applications import Starlette

from tests.console.browser import Answer, Browser
from tests.console.test_staff_pages import staff_browser
from tests.people import People
from tollkeeper.core.people.logins import Role

URL = "https://hooks.example.com/in?token=of-the-receiver"


async def a_webhook(visitor: Browser) -> tuple[str, str]:
    """Its page, and its secret."""
    await visitor.get("/staff/webhooks/new")
    made = await visitor.post("/staff/webhooks/new", url=URL, note="pager", kinds="provider.out")
    assert made.status == 200, made.text
    secret = re.search(r"whsec_[\w+/=]+", made.text)
    page = re.search(r"/staff/webhooks/\d+", made.text)
    assert secret
    assert page
    return page[0], secret[0]


@pytest.fixture
async def visitor(application: Starlette, people: People) -> Browser:
    return await staff_browser(application, people, Role.OPERATOR)


async def test_a_webhook_is_added_tested_changed_rotated_and_removed(visitor: Browser) -> None:
    path, secret = await a_webhook(visitor)

    async def send(to: str, **fields: str) -> Answer:
        """From its page."""
        await visitor.get(path)
        return await visitor.post(f"{path}{to}", **fields)

    page = await visitor.get(path)
    assert "Nothing was sent to it yet" in page.text
    assert secret not in page.text
    assert "of-the-receiver" not in page.text
    assert (await send("/test")).goes_to == f"{path}?done=webhook-tested"
    page = await visitor.get(path)
    assert "webhook.test" in page.text
    again = re.search(rf"{path}/deliveries/\d+/again", page.text)
    assert again
    assert (await send(again[0].removeprefix(path))).goes_to == f"{path}?done=webhook-again"
    refused = await send("/change", url="https://10.0.0.1/", kinds="provider.out")
    assert refused.status == 422
    assert "private address" in refused.text
    assert (await send("/change", note="other", kinds="books.not_clean")).goes_to.startswith(path)
    assert (await send("/change", note="other")).status == 422
    assert "books.not_clean" in (await visitor.get("/staff/webhooks")).text
    rotated = await send("/rotate-secret")
    assert "signed with the secret before" in rotated.text
    assert secret not in rotated.text
    await send("/switch", is_on="false")
    assert "It is switched off: staff switched it off" in (await visitor.get(path)).text
    assert (await send("/test")).status == 422
    await send("/switch", is_on="true")
    assert (await send("/remove", reason="unused")).goes_to == "/staff/webhooks?done=webhook-removed"
    assert (await visitor.get(path)).status == 404


async def test_support_sees_webhooks_and_changes_nothing(
    application: Starlette, people: People, visitor: Browser
) -> None:
    path, _ = await a_webhook(visitor)
    support = await staff_browser(application, people, Role.SUPPORT)
    for page in ("/staff/webhooks", path):
        answer = await support.get(page)
        assert answer.status == 200
        assert "/staff/webhooks/new" not in answer.text
        assert "rotate-secret" not in answer.text
    await visitor.get(path)
    assert (await visitor.post(f"{path}/remove", reason="unused")).status == 303


@pytest.mark.parametrize("number", ["7777", str(2**70), "0"])
async def test_a_webhook_that_is_not_there_is_no_page(visitor: Browser, number: str) -> None:
    assert (await visitor.get(f"/staff/webhooks/{number}")).status == 404
    await visitor.get("/staff/webhooks/new")
    assert (await visitor.post(f"/staff/webhooks/{number}/remove", reason="unused")).status == 404
