"""Models at the office: listed in USD, changed, hidden, and removed only where nothing was ever called."""

from decimal import Decimal
from typing import Any

import asyncpg
import pytest
from starlette.applications import Starlette

from tests.customers import Customers
from tests.office.node_eyes import NodeEyes
from tests.office.staff import StaffClient, a_key, refused, told
from tests.storage.usage.rows import Counted, a_call
from tollkeeper.core.errors import ModelNotFound
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.core.usage.receipt import Receipt
from tollkeeper.office.desks import Office
from tollkeeper.ports import NewPrice
from tollkeeper.storage.postgres.database import Database
from tollkeeper.storage.usage.receipts import SqlReceipts

WHY = {"reason": "a test"}
# Ids may look like this.
MODEL = "vendor/model:1"
PARTS = {"per_call_usd": "0.01", "tools_usd": {"search": "0.02"}}


async def added(client: StaffClient, model: str = MODEL, **more: Any) -> str:
    told(await client.post("/models", model=model, **more))
    return model


async def shown(client: StaffClient, model: str = MODEL, **more: str) -> dict[str, Any]:
    found: dict[str, Any] = told(await client.get("/model", model=model, **more))
    return found


async def test_a_model_is_added_and_told_in_usd(owner_client: StaffClient, node_eyes: NodeEyes) -> None:
    price = {
        "multiplier": "1.25",
        "completion": "8",
        "parts": {"per_call_usd": "0.01", "tools_usd": {"search": "0.02"}},
    }
    await added(owner_client, price=price, max_output_tokens=99, only_groups=["standard"])
    assert await node_eyes.learns()
    found = await shown(owner_client)
    [figures] = found["prices"]
    assert {tag["for"]: tag["usd"] for tag in figures["usd"]} == {
        "a million input tokens": "2.500",
        "a million cached input tokens": "2.500",
        "a million output tokens": "20.000",
        "a call": "0.010",
        "a use of search": "0.020",
    }
    assert figures["multipliers"] == {"model": "1.25", "completion": "8", "cached": "1"}
    assert (found["kind"], found["hidden_at"], found["only_groups"]) == ("chat", None, ["standard"])
    assert found["token_caps"]["max_output_tokens"] == 99
    offer = await node_eyes.offer(MODEL)
    assert (offer.rate.price.model, offer.model.token_caps.max_output_tokens) == (1_250_000, 99)


async def test_what_a_vendor_prices_apart_is_proposed_and_told(owner_client: StaffClient) -> None:
    made = told(await owner_client.post("/models", model="claude-x", price={"parts": {"written_1h": None}}))
    assert made["proposed"] == ["cached 0.1", "written for 5 minutes 1.25"]
    assert made["undone_by"] == ["--cached 1", "--written-5m none"]


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({"model": "bad id"}, "A model's id has 1 to 128 letters"),
        ({"model": "m", "kind": "image"}, "needs its prices"),
        ({"model": "m", "by_token": True}, "Only a model for images"),
        ({"model": "m", "price": {"multiplier": "1e3"}}, "is not a multiplier"),
        ({"model": "m", "price": {"multiplier": "0.0000001"}}, "at most six decimals"),
        ({"model": "m", "price": {"parts": {"per_call_usd": "-1"}}}, "not a positive amount"),
        ({"model": "m", "voices": ["a\u202eb"]}, "one line of printable characters"),
        (
            {"model": "m", "kind": "image", "sizes": [{"variant": "large", "quota_tokens": "1"}]},
            "is not the size of an image",
        ),
    ],
)
async def test_a_model_that_cannot_be_sold_is_refused_in_words(
    owner_client: StaffClient, owner: asyncpg.Connection, wish: dict[str, object], words: str
) -> None:
    answer = await owner_client.send("POST", "/models", wish)
    assert refused(answer) == (422, "refused")
    assert words in answer.text
    assert await owner.fetchval("select count(*) from model") == 0


async def test_models_are_listed_in_pages_by_kind_and_at_the_prices_of_a_group(owner_client: StaffClient) -> None:
    told(await owner_client.post("/groups", group="gold", multiplier="0.8"))
    for name in ("c", "a", "b"):
        await added(owner_client, name)
    await added(owner_client, "image", kind="image", sizes=[{"variant": "1024x1024", "quota_tokens": "20000"}])
    await added(owner_client, "theirs", only_groups=["standard"])
    first = told(await owner_client.get("/models", limit=2, kind="chat"))
    second = told(await owner_client.get("/models", limit=2, kind="chat", after=first["next"]))
    assert [each["id"] for page in (first, second) for each in page["data"]] == ["a", "b", "c", "theirs"]
    assert second["next"] is None
    gold = {
        each["id"]: each["prices"][0]["usd"][0]
        for each in told(await owner_client.get("/models", group="gold"))["data"]
    }
    assert gold["a"] == {"for": "a million input tokens", "usd": "1.600"}
    assert gold["image"] == {"for": "an image", "usd": "0.032"}
    assert "theirs" not in gold
    assert refused(await owner_client.get("/models", group="nobody")) == (404, "not_found")
    assert refused(await owner_client.get("/models", after="IlwwIg==")) == (400, "bad_request")


async def test_limits_and_groups_change_and_what_is_not_named_stays(
    owner_client: StaffClient, node_eyes: NodeEyes, owner: asyncpg.Connection
) -> None:
    await added(owner_client, max_output_tokens=99, voices=["ada"])
    await node_eyes.learns()
    assert (await node_eyes.offer(MODEL)).model.token_caps.context_tokens == 128_000
    change: dict[str, Any] = {"model": MODEL, "context_tokens": 1_000, "images_most": 2, "only_groups": ["restricted"]}
    assert told(await owner_client.post("/model/change", **change)) == {"changed": True}
    assert told(await owner_client.post("/model/change", **change)) == {"changed": False}
    assert await node_eyes.learns()
    with pytest.raises(ModelNotFound):
        await node_eyes.offer(MODEL)
    sold = (await node_eyes.offer(MODEL, "restricted")).model
    assert (sold.token_caps.context_tokens, sold.token_caps.max_output_tokens) == (1_000, 99)
    assert (sold.media.images_most, sold.media.voices) == (2, ("ada",))
    told(await owner_client.post("/model/change", model=MODEL, only_groups=None))
    assert await node_eyes.learns()
    assert (await node_eyes.offer(MODEL)).model.only_groups is None
    acts = await owner.fetch("select action from audit where subject = $1 order by id", f"model:{MODEL}")
    assert [row["action"] for row in acts] == ["model.add", "model.change", "model.change"]
    nobody = await owner_client.post("/model/change", model=MODEL, only_groups=["nobody"])
    assert refused(nobody) == (404, "not_found")


async def test_a_hidden_model_is_refused_as_an_unknown_one_and_keeps_its_price_book(
    owner_client: StaffClient,
    node_eyes: NodeEyes,
    customers: Customers,
    owner: asyncpg.Connection,
    console_database: Database,
) -> None:
    customer = await customers.a_customer()
    await added(owner_client, price={"multiplier": "3"})
    await node_eyes.learns()
    price = (await node_eyes.offer(MODEL)).rate.price
    call = await a_call(owner, customer, price.id, usage=Counted(charged=330))
    book = told(await owner_client.get("/prices/history", model=MODEL))
    assert told(await owner_client.post("/model/hide", model=MODEL, **WHY)) == {"changed": True}
    assert told(await owner_client.post("/model/hide", model=MODEL, **WHY)) == {"changed": False}
    assert await node_eyes.learns()
    with pytest.raises(ModelNotFound) as hidden:
        await node_eyes.offer(MODEL)
    with pytest.raises(ModelNotFound) as unknown:
        await node_eyes.offer("nonesuch")
    assert str(hidden.value).replace(MODEL, "nonesuch") == str(unknown.value)
    assert MODEL not in [model.id for model in (await node_eyes.price_book()).models]
    assert MODEL not in await customers.desk.catalog.chat_models()
    assert (await shown(owner_client))["hidden_at"] is not None
    assert [each["id"] for each in told(await owner_client.get("/models", hidden="true"))["data"]] == [MODEL]
    assert told(await owner_client.get("/prices/history", model=MODEL)) == book
    receipt = await SqlReceipts(console_database).find(call, account_id=customer.account_id)
    assert isinstance(receipt, Receipt)
    assert receipt.charged == 330
    entered = await owner_client.post("/prices", model=MODEL, multiplier="4", forced_because="now")
    assert refused(entered) == (404, "not_found")
    assert told(await owner_client.post("/model/unhide", model=MODEL, **WHY)) == {"changed": True}
    assert await node_eyes.learns()
    assert (await node_eyes.offer(MODEL)).rate.price == price
    whys = await owner.fetch("select action, detail->>'reason' as why from audit where action ~ 'hide' order by id")
    assert [tuple(row) for row in whys] == [("model.hide", "a test"), ("model.unhide", "a test")]


async def test_only_a_model_that_was_never_called_is_removed(
    owner_client: StaffClient, node_eyes: NodeEyes, customers: Customers, owner: asyncpg.Connection
) -> None:
    customer = await customers.a_customer()
    called = await customers.a_model(price=NewPrice(model=Decimal(1)))
    [row] = await customers.desk.prices.rows(called)
    await a_call(owner, customer, row.price.id)
    await added(owner_client)
    told(await owner_client.post("/groups", group="gold", model_rates={MODEL: 5, called: 5}))
    offered = await owner_client.post("/model/remove", model=MODEL, **WHY)
    assert refused(offered) == (422, "refused")
    assert "Hide it, wait for a minute" in offered.text
    for model in (MODEL, called):
        told(await owner_client.post("/model/hide", model=model, **WHY))
    assert refused(await owner_client.post("/model/remove", model=MODEL, **WHY)) == (422, "refused")
    await owner.execute("update model set retired_at = retired_at - interval '2 minutes'")
    await node_eyes.learns()
    answer = await owner_client.post("/model/remove", model=called, **WHY)
    assert refused(answer) == (422, "refused")
    assert "It can be hidden instead" in answer.text
    assert told(await owner_client.post("/model/remove", model=MODEL, **WHY)) == {"changed": True}
    assert await node_eyes.learns()
    assert [row["id"] for row in await owner.fetch("select id from model")] == [called]
    assert await owner.fetchval("select count(*) from price where model_id = $1", MODEL) == 0
    # Its own rates go with it: otherwise nothing of the group could be changed any more.
    assert told(await owner_client.get("/groups/gold"))["model_rates"] == {called: 5}
    assert refused(await owner_client.post("/model/remove", model=MODEL, **WHY)) == (404, "not_found")
    assert told(await owner_client.get("/audit/chain"))["is_whole"]


async def test_a_model_whose_calls_were_cleaned_from_the_log_is_not_removed(
    owner_client: StaffClient, owner: asyncpg.Connection
) -> None:
    await added(owner_client)
    told(await owner_client.post("/model/hide", model=MODEL, **WHY))
    await owner.execute("update model set retired_at = retired_at - interval '2 minutes'")
    await owner.execute("insert into usage_day values (0, '2026-01-01', 0, $1, 'completed', 1, 1, 0, 1, 400)", MODEL)
    assert refused(await owner_client.post("/model/remove", model=MODEL, **WHY)) == (422, "refused")


async def test_whoever_may_only_read_changes_nothing(api: Starlette, office: Office, owner_client: StaffClient) -> None:
    await added(owner_client)
    reader = StaffClient(api, await a_key(office, "reader", Scope.READ))
    assert (await shown(reader))["id"] == MODEL
    assert refused(await reader.post("/model/hide", model=MODEL, **WHY)) == (403, "scope_missing")
