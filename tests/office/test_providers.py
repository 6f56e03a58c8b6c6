"""Provider accounts by the operator API: what they serve, what can be changed, and keys that never come out."""

from collections.abc import Iterator
from typing import Any

import asyncpg
import msgspec
import pytest
from starlette.applications import Starlette

from tests.conftest import PROVIDER_KEY
from tests.customers import Customers
from tests.office.staff import StaffClient, a_key, refused, told
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.desks import Office
from tollkeeper.ports import ProviderChange
from tollkeeper.ports.providers.desk import ChangedMeanwhile
from tools.simulator import Simulator

OPENAI = "https://api.openai.com/v1"
ELSEWHERE = "https://api.example/v1"
KEY = "sk-canary-of-an-account"


@pytest.fixture(scope="module")
def provider() -> Iterator[Simulator]:
    with Simulator(key=PROVIDER_KEY) as running:
        yield running


@pytest.fixture
async def sold(office: Office) -> None:
    for model_id in ("gpt-4o", "claude-opus"):
        await Customers(office).a_model(model_id=model_id)


async def add(client: StaffClient, name: str = "first", **more: Any) -> Any:
    fields: dict[str, Any] = {"name": name, "base_url": OPENAI, "key": KEY, **more}
    return told(await client.post("/providers", **fields))


async def change(client: StaffClient, name: str = "first", **fields: Any) -> Any:
    return await client.send("PATCH", f"/providers/{name}", fields)


async def message(client: StaffClient, **fields: Any) -> str:
    """Why a change was refused."""
    answer = await change(client, **fields)
    assert refused(answer) == (422, "refused")
    return str(msgspec.json.decode(answer.text)["error"]["message"])


async def suspend(owner: asyncpg.Connection) -> None:
    await owner.execute("update provider_account set suspended_at = now(), suspended_because = 'its key was refused'")


@pytest.mark.usefixtures("sold")
async def test_an_account_at_a_vendors_own_address_serves_that_vendors_models_only(
    owner_client: StaffClient, office: Office
) -> None:
    assert (await add(owner_client))["family"] == "openai"
    account = await office.providers.find("first")
    assert account.name_of("gpt-4o") == "gpt-4o"
    assert account.name_of("claude-opus") is None
    [row] = told(await owner_client.get("/providers"))["data"]
    assert (row["family"], row["models"], row["takes_calls"], row["share_percent"]) == ("openai", None, True, 100.0)


@pytest.mark.usefixtures("sold")
async def test_elsewhere_models_are_named_or_all_are_asked_for(owner_client: StaffClient, office: Office) -> None:
    answer = await owner_client.post("/providers", name="a", base_url=ELSEWHERE, key=KEY)
    assert refused(answer) == (422, "refused")
    assert "cannot be known" in answer.text
    unknown = await owner_client.post("/providers", name="a", base_url=ELSEWHERE, key=KEY, models={"gpt-4": "x"})
    assert "Did you mean gpt-4o?" in unknown.text
    await add(owner_client, "named", base_url=ELSEWHERE, models={"gpt-4o": "theirs"})
    await add(owner_client, "every", base_url=ELSEWHERE, all_models=True)
    assert (await office.providers.find("named")).name_of("gpt-4o") == "theirs"
    assert (await office.providers.find("every")).name_of("whatever") == "whatever"
    assert told(await owner_client.get("/providers/named"))["model_names"] == {"gpt-4o": "theirs"}


@pytest.mark.usefixtures("sold")
async def test_what_is_not_named_in_a_change_stays_and_null_takes_a_limit_away(owner_client: StaffClient) -> None:
    await add(owner_client, requests_per_minute=60, concurrency=4, rejects=["seed"], api_version="v2")
    assert told(await change(owner_client, tier=2, requests_per_minute=None, cost_multiplier="0.80"))["changed"]
    assert told(await change(owner_client, models={"gpt-4o": "mine"}, passes=["guided_json"], weight=7))["changed"]
    assert not told(await change(owner_client, tier=2, cost_multiplier="0.8"))["changed"]
    shown = told(await owner_client.get("/providers/first"))
    row = shown["standing"]
    assert (row["tier"], row["weight"], row["requests_per_minute"], row["concurrency"]) == (2, 7, None, 4)
    assert (row["rejects"], row["passes"], row["family"], row["models"]) == (["seed"], ["guided_json"], None, 1)
    assert (shown["cost_multiplier"], shown["api_version"], shown["model_names"]) == ("0.8", "v2", {"gpt-4o": "mine"})
    told(await change(owner_client, models=None, api_version=None))
    shown = told(await owner_client.get("/providers/first"))
    assert (shown["standing"]["family"], shown["api_version"]) == ("openai", None)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"base_url": "https://169.254.169.254/v1", "key": "k"}, "never a provider"),
        ({"base_url": ELSEWHERE}, "is not sent to another place"),
        ({"base_url": "http://api.openai.com/v1", "key": "k"}, "--insecure-http"),
        ({"base_url": ELSEWHERE, "key": "k"}, "cannot be known"),
        ({"key": "k"}, "with another host only"),
        ({"base_url": "https://api.openai.com/v2", "key": "k"}, "with another host only"),
        ({"rejects": ["messages"]}, "said to reject"),
        ({"passes": ["api_base"]}, "said to pass"),
        ({"cost_multiplier": "-1"}, "is not a multiplier"),
        ({"api_version": "1?x"}, "is not a version"),
        ({"models": {"gpt-5": "x"}}, "There is no model 'gpt-5'"),
        ({"models": {"gpt-4o": "x"}, "all_models": True}, "not both"),
    ],
    ids=str,
)
@pytest.mark.usefixtures("sold")
async def test_a_change_that_will_not_do_changes_nothing(
    owner_client: StaffClient, owner: asyncpg.Connection, fields: dict[str, object], why: str
) -> None:
    await add(owner_client)
    before = await owner.fetchrow("select * from provider_account")
    assert why in await message(owner_client, **fields)
    assert await owner.fetchrow("select * from provider_account") == before


async def test_another_host_takes_another_key_and_the_same_host_keeps_it(
    owner_client: StaffClient, office: Office
) -> None:
    await add(owner_client)
    told(await change(owner_client, base_url="https://api.openai.com/v2"))
    assert (await office.providers.find("first")).secret.reveal() == KEY
    told(await change(owner_client, base_url=ELSEWHERE, key="sk-of-the-other", all_models=True))
    moved = await office.providers.find("first")
    assert (moved.base_url, moved.secret.reveal(), moved.family) == (ELSEWHERE, "sk-of-the-other", None)


@pytest.mark.usefixtures("sold")
async def test_an_account_is_tested_before_it_is_added_and_left_out_if_it_serves_nobody(
    owner_client: StaffClient, provider: Simulator, owner: asyncpg.Connection
) -> None:
    fields: dict[str, Any] = {"base_url": provider.base, "tested": True, "all_models": True}
    answer = await owner_client.post("/providers", name="bad", key="sk-wrong", **fields)
    assert refused(answer) == (422, "refused")
    assert "'bad' was not added" in answer.text
    assert await owner.fetchval("select count(*) from provider_account") == 0
    made = await add(owner_client, "good", **(fields | {"key": PROVIDER_KEY}))
    assert made["trial"]["key_accepted"]
    assert [finding["works"] for finding in made["trial"]["findings"]][:2] == [True, True]
    assert refused(await owner_client.post("/providers", name="good", key="k", **fields)) == (409, "already_there")


async def test_why_an_account_was_removed_is_on_record(owner_client: StaffClient, owner: asyncpg.Connection) -> None:
    await add(owner_client)
    told(await owner_client.post("/providers/first/drain", reason="its contract ended"))
    told(await owner_client.send("DELETE", "/providers/first?reason=its+contract+ended"))
    detail = await owner.fetchval("select detail::text from audit where action = 'provider.remove'")
    assert msgspec.json.decode(detail)["reason"] == "its contract ended"


async def test_keys_come_out_nowhere(owner_client: StaffClient, owner: asyncpg.Connection) -> None:
    await add(owner_client)
    await change(owner_client, base_url=ELSEWHERE, key=f"{KEY}-2", all_models=True)
    await owner_client.post("/providers/first/rotate-key", key=f"{KEY}-3", untested=True)
    answers = [await owner_client.get(path) for path in ("/providers", "/providers/first", "/audit")]
    answers.append(await owner_client.post("/providers/first/rotate-key", key=f"{KEY}\n"))
    answers.append(await owner_client.post("/providers", name="first", base_url=ELSEWHERE, key=KEY, all_models=True))
    assert not any(KEY in answer.text for answer in answers)
    rows = await owner.fetch("select action, detail::text from audit where action like 'provider.%' order by id")
    assert [row["action"] for row in rows] == ["provider.add", "provider.change", "provider.rotate_key"]
    assert msgspec.json.decode(rows[1]["detail"]) == {
        "before": {"base_url": OPENAI, "family": "openai"},
        "after": {"base_url": ELSEWHERE, "family": None},
        "has_another_key": True,
    }


async def test_a_key_that_the_provider_refuses_is_not_taken(
    owner_client: StaffClient, office: Office, owner: asyncpg.Connection, provider: Simulator
) -> None:
    await add(owner_client, base_url=provider.base, all_models=True, key="sk-of-before")
    await suspend(owner)
    answer = await owner_client.post("/providers/first/rotate-key", key="sk-wrong")
    assert refused(answer) == (422, "refused")
    assert "first keeps the key that it has" in answer.text
    assert (await office.providers.find("first")).secret.reveal() == "sk-of-before"
    done = told(await owner_client.post("/providers/first/rotate-key", key=PROVIDER_KEY))
    assert done["suspension_lifted"]
    assert (await office.providers.find("first")).secret.reveal() == PROVIDER_KEY


async def test_pause_drain_and_resume_are_on_record_under_the_name_of_whoever_asked(
    api: Starlette, office: Office, owner: asyncpg.Connection
) -> None:
    client = StaffClient(api, await a_key(office, "anna", Scope.CATALOG))
    await add(client)
    for word in ("pause", "drain"):
        assert told(await client.post(f"/providers/first/{word}", reason="it fails"))["changed"]
        assert not told(await client.post(f"/providers/first/{word}", reason="it fails"))["changed"]
    [row] = told(await client.get("/providers"))["data"]
    assert (row["state"], row["health"], row["takes_calls"], row["share_percent"]) == ("draining", "draining", False, 0)
    await suspend(owner)
    assert told(await client.post("/providers/first/resume")) == {"changed": True, "suspension_lifted": True}
    rows = await owner.fetch("select actor, action from audit where subject = 'provider_account:first' order by id")
    assert {row["actor"] for row in rows} == {"operator:anna"}
    assert [row["action"] for row in rows][-1] == "provider.lift_suspension"


async def test_an_account_is_removed_when_it_takes_no_calls_and_its_name_stays_taken(
    owner_client: StaffClient, owner: asyncpg.Connection
) -> None:
    await add(owner_client)
    path = "/providers/first"
    active = await owner_client.send("DELETE", f"{path}?reason=unused")
    assert refused(active) == (422, "refused")
    told(await owner_client.post(f"{path}/pause", reason="unused"))
    assert told(await owner_client.send("DELETE", f"{path}?reason=unused")) == {"changed": True}
    assert refused(await owner_client.send("DELETE", f"{path}?reason=unused")) == (404, "not_found")
    assert told(await owner_client.get("/providers"))["data"] == []
    assert await owner.fetchval("select count(*) from provider_account") == 0
    again = await owner_client.post("/providers", name="first", base_url=OPENAI, key=KEY)
    assert refused(again) == (409, "already_there")
    assert "was removed on" in again.text
    assert await owner.fetchval("select count(*) from provider_account") == 0


async def test_a_trial_gives_the_findings(owner_client: StaffClient, office: Office, provider: Simulator) -> None:
    await Customers(office).a_model(model_id="large")
    models = {"large": "theirs"}
    await add(owner_client, base_url=provider.base, models=models, key=PROVIDER_KEY, rejects=["tools"])
    trial = told(await owner_client.post("/providers/first/test"))
    assert (trial["key_accepted"], trial["model"]) == (True, "large")
    assert [finding["works"] for finding in trial["findings"]] == [True, True, False, True, True]
    other = await owner_client.post("/providers/first/test", model="gpt-4o")
    assert refused(other) == (422, "refused")
    assert "does not serve the model 'gpt-4o'" in other.text


async def test_a_trial_with_a_refused_key_makes_no_calls(owner_client: StaffClient, provider: Simulator) -> None:
    await add(owner_client, base_url=provider.base, all_models=True, key="sk-wrong")
    trial = told(await owner_client.post("/providers/first/test", model="large"))
    assert (trial["key_accepted"], trial["findings"], trial["suspension_lifted"]) == (False, [], False)
    assert "its key is refused" in trial["told"]


async def test_the_list_comes_in_pages_by_tier_and_name(owner_client: StaffClient) -> None:
    for name, tier in {"b": 1, "a": 2, "c": 1, "d": 3}.items():
        await add(owner_client, name, tier=tier, weight=3 if name == "b" else 1)
    seen, after = [], ""
    while True:
        page = told(await owner_client.get("/providers", limit=3, after=after))
        seen += [(row["name"], row["share_percent"]) for row in page["data"]]
        if page["next"] is None:
            break
        after = page["next"]
    assert seen == [("b", 75.0), ("c", 25.0), ("a", 100.0), ("d", 100.0)]


@pytest.mark.parametrize("scope", [Scope.READ, Scope.SUPPORT, Scope.MONEY])
async def test_whoever_may_only_read_changes_nothing(api: Starlette, office: Office, scope: Scope) -> None:
    client = StaffClient(api, await a_key(office, "reader", scope))
    assert told(await client.get("/providers")) == {"data": [], "next": None}
    assert refused(await client.post("/providers", name="a", base_url=OPENAI, key=KEY)) == (403, "scope_missing")
    assert refused(await client.send("DELETE", "/providers/a")) == (403, "scope_missing")


async def test_a_key_or_an_address_that_was_judged_by_another_address_is_not_taken(
    owner_client: StaffClient, office: Office
) -> None:
    """Somebody else moved the account to another host meanwhile."""
    await add(owner_client, base_url=ELSEWHERE, all_models=True)
    with pytest.raises(ChangedMeanwhile):
        await office.providers.set_key("first", "sk-for-openai", given_for=OPENAI, actor="a test")
    back = ProviderChange(judged_address=OPENAI, base_url=f"{OPENAI}/more")
    with pytest.raises(ChangedMeanwhile):
        await office.providers.change("first", back, actor="a test")
    account = await office.providers.find("first")
    assert (account.base_url, account.secret.reveal()) == (ELSEWHERE, KEY)


async def test_no_account_is_called_like_a_page(owner_client: StaffClient) -> None:
    answer = await owner_client.post("/providers", name="add", base_url=OPENAI, key=KEY)
    assert refused(answer) == (422, "refused")
    assert "address of another page" in answer.text
