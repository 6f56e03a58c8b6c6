"""The price book at the office: entered now or later, previewed over real calls, withdrawn; exact, and in USD first."""

from datetime import timedelta

import asyncpg
import pytest

from tests.customers import Customers
from tests.office.node_eyes import NodeEyes
from tests.office.staff import StaffClient, refused, told
from tests.storage.usage.rows import Counted, a_call
from tollkeeper.core.money.prices import Usage
from tollkeeper.core.usage.receipt import Receipt
from tollkeeper.office.desks import Office
from tollkeeper.storage.postgres.database import Database
from tollkeeper.storage.usage.receipts import SqlReceipts

NOW = {"forced_because": "theirs rose"}


async def a_model(client: StaffClient, model: str = "m") -> None:
    told(await client.post("/models", model=model))


async def test_a_price_waits_for_its_notice_or_is_forced_with_a_reason(
    owner_client: StaffClient, office: Office, node_eyes: NodeEyes, owner: asyncpg.Connection
) -> None:
    await a_model(owner_client)
    soon = (await office.prices.now() + timedelta(hours=1)).isoformat()
    too_soon = await owner_client.post("/prices", model="m", multiplier="2", effective_from=soon)
    assert refused(too_soon) == (422, "refused")
    assert "That is too soon" in too_soon.text
    await node_eyes.learns()
    forced = told(await owner_client.post("/prices", model="m", multiplier="2", effective_from=soon, **NOW))
    assert await node_eyes.learns()
    later = told(await owner_client.post("/prices", model="m", completion="4"))
    assert later["price"]["usd"][2] == {"for": "a million output tokens", "usd": "16.000"}
    rows = told(await owner_client.get("/prices"))["data"]
    assert [(row["state"], row["multipliers"]["model"]) for row in rows] == [
        ("has_taken_effect", "1"),
        ("announced", "2"),
        ("announced", "2"),
    ]
    assert rows[1]["forced_because"] == "theirs rose"
    assert [price.id for price in (await node_eyes.offer("m")).model.prices][1:] == [
        forced["price_id"],
        later["price_id"],
    ]
    by = await owner.fetchval("select actor from audit where action = 'price.enter' limit 1")
    assert by == await owner.fetchval("select 'operator:' || name from operator_key")


async def test_a_coming_price_is_withdrawn_and_what_was_entered_on_top_of_it_is_named(
    owner_client: StaffClient, node_eyes: NodeEyes
) -> None:
    await a_model(owner_client)
    first = told(await owner_client.post("/prices", model="m", multiplier="2"))
    at = told(await owner_client.get("/prices"))["data"][1]["effective_from"]
    after = at.replace("2026", "2027", 1)
    second = told(await owner_client.post("/prices", model="m", completion="4", effective_from=after))
    await node_eyes.learns()
    path = f"/prices/{first['price_id']}/withdraw"
    done = told(await owner_client.post(path, reason="a slip"))
    assert [each["price_id"] for each in done["look_at"]] == [second["price_id"]]
    assert await node_eyes.learns()
    assert len((await node_eyes.offer("m")).model.prices) == 2
    assert refused(await owner_client.post(path, reason="a slip")) == (422, "refused")
    [_, gone, _] = told(await owner_client.get("/prices/history", model="m"))["data"]
    assert (gone["state"], gone["withdraw_reason"]) == ("withdrawn", "a slip")
    in_force = told(await owner_client.get("/prices"))["data"][0]["price_id"]
    assert refused(await owner_client.post(f"/prices/{in_force}/withdraw", reason="a slip")) == (422, "refused")
    assert refused(await owner_client.post("/prices/99999/withdraw", reason="a slip")) == (404, "not_found")


async def test_a_preview_reckons_real_calls_and_changes_nothing(
    owner_client: StaffClient, customers: Customers, owner: asyncpg.Connection
) -> None:
    customer = await customers.a_customer()
    await a_model(owner_client)
    [row] = await customers.desk.prices.rows("m")
    await a_call(owner, customer, row.price.id, usage=Counted(Usage(1_000_000, 0), charged=10**12))
    book = told(await owner_client.get("/prices/history", model="m"))
    found = told(await owner_client.post("/prices/preview", model="m", multiplier="1.5"))
    assert found["accounts"][0]["account"] == customer.account_id
    total = found["total"]
    assert (total["calls"], total["old"]["usd"], total["new"]["usd"]) == (1, "2.000", "3.000")
    assert total["new"]["micro_quota"] == 1_500_000_000_000
    assert told(await owner_client.get("/prices/history", model="m")) == book


async def test_receipts_of_old_calls_keep_their_sums(
    owner_client: StaffClient,
    customers: Customers,
    owner: asyncpg.Connection,
    console_database: Database,
) -> None:
    customer = await customers.a_customer()
    await a_model(owner_client)
    [row] = await customers.desk.prices.rows("m")
    call = await a_call(owner, customer, row.price.id, usage=Counted(Usage(100, 10), charged=110_000_000))
    at = (await customers.desk.prices.now() + timedelta(seconds=6)).isoformat()
    told(await owner_client.post("/prices", model="m", multiplier="9", effective_from=at, **NOW))
    await owner.execute("update price set effective_from = ledger_now() where model_multiplier = 9")
    told(await owner_client.post("/groups/standard/change", multiplier="2", reason="dearer"))
    receipt = await SqlReceipts(console_database).find(call, account_id=None)
    assert isinstance(receipt, Receipt)
    assert (receipt.charged, receipt.rate.charge(receipt.usage)) == (110_000_000, 110_000_000)
    assert (receipt.rate.price.model, receipt.rate.group) == (1_000_000, 1_000_000)


async def test_prices_are_listed_in_pages_at_a_groups_multiplier(owner_client: StaffClient) -> None:
    told(await owner_client.post("/groups", group="gold", multiplier="0.5"))
    for name in ("a", "b", "c"):
        await a_model(owner_client, name)
    seen, after = [], ""
    while True:
        page = told(await owner_client.get("/prices", limit=2, after=after, group="gold"))
        seen += [(row["model_id"], row["usd"][0]["usd"]) for row in page["data"]]
        if page["next"] is None:
            break
        after = page["next"]
    assert seen == [("a", "1.000"), ("b", "1.000"), ("c", "1.000")]
    assert refused(await owner_client.get("/prices/history", model="nonesuch")) == (404, "not_found")
    # 10 to the power of 30 is no row's number.
    assert refused(await owner_client.get("/prices", after="MTAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAw")) == (
        400,
        "bad_request",
    )


@pytest.mark.parametrize(
    "wish",
    [
        {},
        {"multiplier": "NaN"},
        {"multiplier": "99999999999"},
        {"multiplier": "2", "effective_from": "0001-01-01T00:00:00+14:00"},
        {"multiplier": "2", "effective_from": "9999-12-31T23:59:59-14:00"},
        {"parts": {"tiers": [{"above_tokens": 0, "multiplier": "2"}]}},
        {"parts": {"tiers": [{"above_tokens": 5, "multiplier": "2"}, {"above_tokens": 5, "multiplier": "3"}]}},
        {"parts": {"tools_usd": {"Search!": "1"}}},
        {"multiplier": "2", "forced_because": " "},
    ],
    ids=str,
)
@pytest.mark.parametrize("path", ["/prices", "/prices/preview"])
async def test_a_price_that_is_none_is_refused_in_words(
    owner_client: StaffClient, wish: dict[str, object], path: str
) -> None:
    await a_model(owner_client)
    if path.endswith("preview"):
        wish = {name: value for name, value in wish.items() if name != "forced_because"}
        if wish == {"multiplier": "2"}:
            return
    answer = await owner_client.send("POST", path, {"model": "m", **wish})
    assert refused(answer) == (422, "refused"), answer.text
    assert len(told(await owner_client.get("/prices"))["data"]) == 1


async def test_a_number_that_is_no_text_is_not_guessed_at(owner_client: StaffClient) -> None:
    await a_model(owner_client)
    assert refused(await owner_client.post("/prices", model="m", multiplier=1.1)) == (400, "bad_request")
