"""Staff's pages of provider accounts: added after a test, looked at, changed, given another key, taken away."""

import re
from collections.abc import AsyncIterator, Iterator
from uuid import uuid4

import asyncpg
import pytest
from starlette.applications import Starlette

from tests.conftest import PROVIDER_KEY
from tests.console.browser import Answer, Browser
from tests.console.test_staff_pages import staff_browser
from tests.customers import Customers
from tests.people import People
from tollkeeper.app.database import opened
from tollkeeper.core.people.logins import Role
from tollkeeper.core.pool.breaker import BreakerState, Trouble
from tollkeeper.ports.providers.live import BreakerReport, PoolReport, RoomReport
from tollkeeper.settings import Settings
from tollkeeper.storage.postgres.database import Database, DatabaseRole
from tollkeeper.storage.providers.reports import SqlPoolReports
from tools.simulator import Simulator

OTHER_KEY = "sk-of-the-provider-4712"


@pytest.fixture(scope="module")
def provider() -> Iterator[Simulator]:
    with Simulator(key=PROVIDER_KEY) as running:
        yield running


@pytest.fixture
async def gateway(town_settings: Settings) -> AsyncIterator[Database]:
    async with opened(town_settings, DatabaseRole.GATEWAY) as database:
        yield database


@pytest.fixture
async def operator(application: Starlette, people: People) -> Browser:
    return await staff_browser(application, people, Role.OPERATOR)


@pytest.fixture
async def model(townsfolk: Customers) -> str:
    return await townsfolk.a_model()


async def added(operator: Browser, provider: Simulator, model: str, **more: str) -> tuple[str, Answer]:
    """The name of a new account, and the answer to its form."""
    name = f"account-{uuid4().hex[:8]}"
    fields = {"name": name, "vendor": "openai", "base_url": provider.base, "key": PROVIDER_KEY, "serves": "named"}
    await operator.get("/staff/providers/add")
    answer = await operator.post(
        "/staff/providers/add", **(fields | {"model_names": model, "tier": "3", "weight": "2"} | more)
    )
    return name, answer


async def test_an_account_is_tested_and_added_and_what_the_test_found_is_shown(
    operator: Browser, provider: Simulator, model: str
) -> None:
    name, answer = await added(operator, provider, model, tested="true", requests_per_minute="60")
    assert answer.status == 200
    assert f"{name} is added" in answer.text
    for call in ("a whole answer", "a streamed answer", "a tool call", "an image", "JSON by a schema"):
        assert call in answer.text
    assert PROVIDER_KEY not in answer.text
    page = await operator.get(f"/staff/providers/{name}")
    assert page.status == 200
    assert "tier 3, weight 2" in page.text
    assert name in (await operator.get(f"/staff/providers?find={name[:12]}")).text


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"key": "sk-wrong", "tested": "true"}, "was not added"),
        ({"model_names": "no-such-model"}, "There is no model"),
        ({"model_names": "a=b a=c"}, "was given twice"),
        ({"model_names": ""}, "Name the models"),
        ({"serves": "family"}, "cannot be known"),
        ({"tier": "none"}, "Nothing was done"),
        ({"cost_multiplier": "dear"}, "is not a multiplier"),
    ],
    ids=str,
)
async def test_what_cannot_be_added_stays_on_the_form_with_the_reason(
    operator: Browser, provider: Simulator, model: str, fields: dict[str, str], words: str
) -> None:
    name, answer = await added(operator, provider, model, **fields)
    assert answer.status == 422
    assert words in answer.text
    assert f'value="{name}"' in answer.text
    assert "sk-wrong" not in answer.text
    assert (await operator.get(f"/staff/providers/{name}")).status == 404


async def test_an_account_is_changed_and_an_emptied_limit_is_taken_away(
    operator: Browser, provider: Simulator, model: str
) -> None:
    name, _ = await added(operator, provider, model, requests_per_minute="60", tokens_per_minute="9000")
    form = await operator.get(f"/staff/providers/{name}/change")
    assert 'value="9000"' in form.text
    fields = {"serves": "all", "tier": "4", "weight": "5", "cost_multiplier": "0.8", "base_url": provider.base}
    answer = await operator.post(
        f"/staff/providers/{name}/change", requests_per_minute="", tokens_per_minute="70", **fields
    )
    assert answer.goes_to == f"/staff/providers/{name}?done=provider-changed"
    page = await operator.follow()
    for words in ("tier 4, weight 5", "every model of the catalog", "0.8 of the list price", "/ 70"):
        assert words in page.text
    await operator.get(f"/staff/providers/{name}/change")
    moved = await operator.post(
        f"/staff/providers/{name}/change", **(fields | {"base_url": "https://other.example/v1"})
    )
    assert moved.status == 422
    assert "is not sent to another place" in moved.text


async def test_a_new_key_must_be_accepted_unless_the_operator_says_otherwise(
    operator: Browser, provider: Simulator, model: str
) -> None:
    name, _ = await added(operator, provider, model)
    refused = await operator.post(f"/staff/providers/{name}/rotate-key", key=OTHER_KEY)
    assert refused.status == 422
    assert "keeps the key that it has" in refused.text
    assert OTHER_KEY not in refused.text
    assert (await operator.post(f"/staff/providers/{name}/rotate-key", key=OTHER_KEY, untested="true")).status == 303
    tried = await operator.get(f"/staff/providers/{name}")
    assert tried.status == 200
    found = await operator.post(f"/staff/providers/{name}/test", model=model)
    assert "key refused" in found.text


async def test_an_account_is_paused_drained_resumed_and_removed_with_a_reason(
    operator: Browser, provider: Simulator, model: str, town_owner: asyncpg.Connection
) -> None:
    name, _ = await added(operator, provider, model)
    here = f"/staff/providers/{name}"
    assert "Pause it or let it drain first" in (await operator.get(here)).text
    for deed in ("pause", "resume", "drain"):
        assert (await operator.post(f"{here}/{deed}", reason="its contract ends")).status == 303
        await operator.follow()
    unsure = await operator.post(f"{here}/remove", confirmed_name="another", reason="tidying up")
    assert (unsure.status, "Type the account" in unsure.text) == (422, True)
    assert (await operator.post(f"{here}/remove", confirmed_name=name)).status == 422
    done = await operator.post(f"{here}/remove", confirmed_name=name, reason="its contract ended")
    assert done.goes_to == "/staff/providers?done=provider-removed"
    assert (await operator.get(here)).status == 404
    detail = await town_owner.fetchval(
        "select detail ->> 'reason' from audit where action = 'provider.remove' and subject = $1",
        f"provider_account:{name}",
    )
    assert detail == "its contract ended"


async def test_live_breakers_are_shown_by_account_and_model(
    operator: Browser, provider: Simulator, model: str, gateway: Database
) -> None:
    name, _ = await added(operator, provider, model, requests_per_minute="60")
    breaker = BreakerReport(account=name, model=model, state=BreakerState.OPEN, seconds=30, trouble=Trouble.SERVER)
    room = RoomReport(account=name, calls=1, requests=41, tokens=900)
    process = SqlPoolReports(gateway, "here", 7, lambda: PoolReport(breakers=[breaker], rooms=[room]))
    await process.write()
    try:
        page = await operator.get(f"/staff/providers/{name}")
        assert re.search(r"it failed again and again; in 1 of \d+ process", page.text)
        assert '41 <span class="sub">/ 60</span>' in page.text
        listed = await operator.get("/staff/providers?tag=partly+out")
        assert f"{model}: open until" in listed.text
        overview = await operator.get("/staff")
        assert f"{name} is out for {model}" in overview.text
        assert f'href="/staff/providers/{name}"' in overview.text
    finally:
        await process.end()
    assert "No account fits" in (await operator.get("/staff/providers?tag=partly+out&find=nobody")).text


async def test_support_sees_accounts_and_can_do_nothing_with_them(
    application: Starlette, people: People, operator: Browser, provider: Simulator, model: str
) -> None:
    name, _ = await added(operator, provider, model)
    support = await staff_browser(application, people, Role.SUPPORT)
    page = await support.get(f"/staff/providers/{name}")
    assert page.status == 200
    assert (await support.post(f"/staff/providers/{name}/pause")).status == 403


async def test_support_looks_and_is_shown_no_button_that_would_be_refused(
    application: Starlette, people: People, operator: Browser, provider: Simulator, model: str
) -> None:
    name, _ = await added(operator, provider, model)
    support = await staff_browser(application, people, Role.SUPPORT)
    here = f"/staff/providers/{name}"
    for page in ("/staff", "/staff/providers", f"/staff/providers?find={uuid4().hex}", here):
        answer = await support.get(page)
        assert answer.status == 200
        assert "/staff/providers/add" not in answer.text
        for act in ("change", "resume", "pause", "drain", "test", "rotate-key", "remove"):
            assert f'{here}/{act}"' not in answer.text, (page, act)
    for act in ("change", "pause", "test", "rotate-key"):
        assert f'{here}/{act}"' in (await operator.get(here)).text
    assert "/staff/providers/add" in (await operator.get("/staff")).text
