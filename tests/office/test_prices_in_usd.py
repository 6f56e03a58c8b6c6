"""Prices in USD over the operator API, and previews by what was added up."""

from decimal import Decimal

import asyncpg
import msgspec
import pytest

from tests.customers import Customers
from tests.office.staff import StaffClient, refused, told
from tests.storage.usage.rows import Counted, a_call
from tollkeeper import __version__
from tollkeeper.core.money.parts import UsageParts
from tollkeeper.core.money.prices import Usage
from tollkeeper.office.desks import Office
from tollkeeper.ports import NewProviderAccount

USD = {"unit": "2.50", "output": "10", "cached": "0.25"}
IN_PARTS = Usage(5_001, 703, 1_003, UsageParts(written_5m=2_001, audio_output=99))


async def added(client: StaffClient, model: str, **more: object) -> None:
    told(await client.post("/models", model=model, **({"price": {"usd": USD}} | more)))


async def test_a_model_and_its_change_are_priced_in_usd(owner_client: StaffClient, owner: asyncpg.Connection) -> None:
    await added(owner_client, "m")
    entered = told(await owner_client.post("/prices", model="m", usd={"unit": "5"}))
    assert [tag["usd"] for tag in entered["price"]["usd"]] == ["5.000", "0.250", "10.000"]
    assert entered["price"]["multipliers"] == {"model": "2.5", "completion": "2", "cached": "0.05"}
    both = await owner_client.post("/prices", model="m", usd={"unit": "5"}, multiplier="2")
    assert refused(both) == (422, "refused")
    assert "not both" in both.text
    assert refused(await owner_client.post("/prices", model="nonesuch", usd={"unit": "5"})) == (404, "not_found")
    sizes = [{"variant": "1024x1024", "usd": "0.04"}, {"variant": "512x512", "quota_tokens": "10000"}]
    await added(owner_client, "p", kind="image", price={}, sizes=sizes)
    found = await owner.fetch("select model_multiplier from price where model_id = 'p' order by variant")
    assert [row[0] for row in found] == [Decimal(20_000), Decimal(10_000)]
    none = await owner_client.post("/models", model="q", kind="image", sizes=[{"variant": "512x512"}])
    assert "in USD or in quota tokens" in none.text


async def test_a_price_that_older_nodes_would_charge_wrongly_waits_until_there_are_none(
    owner_client: StaffClient, owner: asyncpg.Connection
) -> None:
    await added(owner_client, "m", price={"usd": {"unit": "0.30", "output": "2.40"}})
    await owner.execute("insert into node (name, version) values ('gw-2', '0.0.9'), ('gw-3', $1)", __version__)
    does_not_divide = {"unit": "0.30", "output": "2.50"}
    entered = await owner_client.post("/prices", model="m", usd=does_not_divide)
    first = await owner_client.post("/models", model="n", price={"usd": does_not_divide})
    for answer in (entered, first):
        assert refused(answer) == (422, "refused")
        assert "charge it wrongly: gw-2 (0.0.9). Nothing was entered. Upgrade or stop them" in answer.text
    assert await owner.fetchval("select count(*) from price") == 1
    told(await owner_client.post("/prices", model="m", usd={"output": "3"}))
    await owner.execute("update node set heartbeat_at = now() - interval '16 s' where name = 'gw-2'")
    told(await owner_client.post("/prices", model="m", usd=does_not_divide))
    await added(owner_client, "n", price={"usd": does_not_divide})


async def test_a_price_with_parts_of_its_own_in_a_tier_waits_too(
    owner_client: StaffClient, owner: asyncpg.Connection
) -> None:
    tier = {"above_tokens": 200_000, "unit": "6", "output": "22.50"}
    usd = {"unit": "3", "output": "15", "written_5m": "3.75", "tiers": [tier]}
    await owner.execute("insert into node (name, version) values ('gw-2', '0.0.9')")
    await added(owner_client, "m", price={"usd": usd})
    assert "gw-2 (0.0.9)" in (await owner_client.post("/prices", model="m", usd={"unit": "2"})).text


async def test_the_form_of_a_price_says_what_it_is_as_it_would_be_typed(owner_client: StaffClient) -> None:
    await added(owner_client, "m", price={"usd": USD, "parts": {"per_call_usd": "0.01", "tools_usd": {"search": "1"}}})
    form = told(await owner_client.get("/prices/form", model="m"))
    assert [(each["name"], each["usd"]) for each in form["fields"][:3]] == [
        ("unit", "2.50"),
        ("cached", "0.25"),
        ("output", "10.00"),
    ]
    assert (form["per_call_usd"], form["tools"]) == ("0.010", [{"name": "search", "usd": "1.000"}])
    assert (form["tiers"], form["is_new"]) == ([], False)
    assert refused(await owner_client.get("/prices/form", model="nonesuch")) == (404, "not_found")


async def test_prices_are_listed_by_when_they_hold(owner_client: StaffClient, owner: asyncpg.Connection) -> None:
    await added(owner_client, "m")
    first = await owner.fetchval("select id from price")
    await owner.execute("update price set effective_from = ledger_now() - interval '9 days'")
    told(await owner_client.post("/prices", model="m", usd={"unit": "5"}))
    gone = told(await owner_client.post("/prices", model="m", multiplier="7", effective_from="2900-01-01T00:00:00Z"))
    told(await owner_client.post(f"/prices/{gone['price_id']}/withdraw", reason="a slip"))

    async def listed(time: str) -> list[int]:
        return [row["price_id"] for row in told(await owner_client.get("/prices", time=time))["data"]]

    coming = await listed("coming")
    assert (await listed("in_force"), await listed("past")) == ([first], [gone["price_id"]])
    assert await listed("standing") == [first, *coming]
    await owner.execute("update price set effective_from = ledger_now() where id = $1", coming[0])
    assert (await listed("in_force"), await listed("past")) == (coming, [first, gone["price_id"]])


@pytest.mark.parametrize("way", ["by what was added up", "call by call"])
async def test_a_preview_is_the_same_before_and_after_calls_are_added_up(
    owner_client: StaffClient, customers: Customers, owner: asyncpg.Connection, way: str
) -> None:
    """Where a price has tools, calls are read one by one whether they are added up or not."""
    parts: dict[str, object] = {"per_call_usd": "0.01", "written_5m": "1.25"}
    if way == "call by call":
        parts |= {"tools_usd": {"search": "0.02"}}
    price = {"multiplier": "1.25", "completion": "4", "cached": "0.1", "parts": parts}
    await added(owner_client, "m", price=price)
    number = await owner.fetchval("select id from price")
    dear, cheap = await customers.a_customer(), await customers.a_customer()
    for days_ago in (0, 0.1, 2.5, 6.9):
        await a_call(owner, dear, number, usage=Counted(IN_PARTS, charged=9), days_ago=days_ago)
    await a_call(owner, dear, number, usage=Counted(IN_PARTS, group=800_000), days_ago=1)
    await a_call(owner, cheap, number, usage=Counted(Usage(1_000, 0), served=False), days_ago=1)
    await a_call(owner, cheap, number, usage=Counted(Usage(1_000, 0)), days_ago=40)
    wish = {"model": "m", "multiplier": "2.5", "completion": "3", "parts": {"audio_output": "9"}}
    before = told(await owner_client.post("/prices/preview", **wish))
    while await owner.fetchval("select add_up_usage(2)"):
        pass
    while await owner.fetchval("select add_up_prices(2)"):
        pass
    assert await owner.fetchval("select count(*) from price_day") >= 3
    after = told(await owner_client.post("/prices/preview", **wish))
    assert after == before
    assert (before["total"]["calls"], before["accounts_in_all"]) == (6, 2)
    assert (before["dearer_for"], before["cheaper_for"]) == (1, 0)
    assert not await owner.fetchval("select add_up_prices(2)")
    fewer = told(await owner_client.post("/prices/preview", days=1, **wish))
    assert fewer["total"]["calls"] < 6


async def test_a_model_says_who_serves_it_and_how_often_it_was_called(
    owner_client: StaffClient, office: Office
) -> None:
    await added(owner_client, "m")
    await added(owner_client, "gpt-x")
    plain = NewProviderAccount(name="named", vendor="openai", base_url="https://a.example", secret="s")
    for account in (
        msgspec.structs.replace(plain, models={"m": "theirs"}),
        msgspec.structs.replace(plain, name="vendors", family="openai"),
        msgspec.structs.replace(plain, name="all"),
    ):
        await office.providers.add(account, actor="a test")
    rows = told(await owner_client.get("/models"))["data"]
    assert {row["id"]: row["served_by"] for row in rows} == {"gpt-x": ["all", "vendors"], "m": ["all", "named"]}
    assert [row["calls_last_day"] for row in rows] == [0, 0]
