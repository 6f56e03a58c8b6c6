"""Groups at the office: rates and price multiplier, on nodes and price pages; removed only where nobody needs them."""

from typing import Any

import asyncpg
import pytest

from tests.customers import Customers
from tests.office.node_eyes import NodeEyes
from tests.office.staff import StaffClient, refused, told
from tollkeeper.core.money.prices import Usage

WHY = {"reason": "a test"}


async def test_a_groups_multiplier_holds_for_coming_calls_and_on_its_price_pages(
    owner_client: StaffClient, node_eyes: NodeEyes, owner: asyncpg.Connection
) -> None:
    told(await owner_client.post("/models", model="m"))
    told(await owner_client.post("/groups", group="gold", multiplier="0.9"))
    await node_eyes.learns()
    before = await node_eyes.offer("m", "gold")
    changed = told(await owner_client.post("/groups/gold/change", multiplier="0.8", **WHY))
    assert changed["multiplier"] == "0.800000"
    assert await node_eyes.learns()
    now = await node_eyes.offer("m", "gold")
    # A call that was admitted keeps the rate it has; the next one pays the new one, exactly.
    assert (before.rate.group, now.rate.group) == (900_000, 800_000)
    assert now.rate.charge(Usage(1_200, 300)) == 1_500 * 800_000
    assert (await node_eyes.price_book("gold")).group == 800_000
    assert (await node_eyes.price_book()).group == 1_000_000
    detail = await owner.fetchval("select detail::text from audit where action = 'group.change'")
    assert '"reason": "a test"' in detail
    assert '"multiplier": "0.900000"' in detail


async def test_another_multiplier_needs_a_reason_and_must_be_one(owner_client: StaffClient) -> None:
    path = "/groups/standard/change"
    for wish in (
        {"multiplier": "2"},
        {"multiplier": "2", "reason": " "},
        {"multiplier": "-1", **WHY},
        {"multiplier": "1000.000001", **WHY},
        {"multiplier": "0.0000001", **WHY},
        {"multiplier": "1e2", **WHY},
    ):
        assert refused(await owner_client.send("POST", path, wish)) == (422, "refused")
    assert refused(await owner_client.post(path, multiplier=2, **WHY)) == (400, "bad_request")
    assert told(await owner_client.get("/groups/standard"))["multiplier"] == "1.000000"


async def test_rates_change_what_is_not_named_stays_and_null_is_no_limit(
    owner_client: StaffClient, node_eyes: NodeEyes
) -> None:
    told(await owner_client.post("/models", model="m"))
    made = told(
        await owner_client.post("/groups", group="gold", standard_rate=600, kind_rates={"chat": 9}, key_rate=None)
    )
    assert (made["key_rate"], made["standard_rate"], made["peak_percent"], made["multiplier"]) == (
        None,
        600,
        200,
        "1.000000",
    )
    await node_eyes.learns()
    wish: dict[str, Any] = {"concurrency": 8, "kind_rates": {"chat": None, "image": 3}, "model_rates": {"m": 7}}
    changed = told(await owner_client.post("/groups/gold/change", **wish))
    assert await node_eyes.learns()
    assert (changed["concurrency"], changed["standard_rate"]) == (8, 600)
    assert (changed["kind_rates"], changed["model_rates"]) == ({"image": 3}, {"m": 7})
    listed = {group["name"]: group for group in told(await owner_client.get("/groups"))["data"]}
    assert listed["gold"] == {**changed, "accounts": 0}
    assert refused(await owner_client.post("/groups/gold/change", model_rates={"nonesuch": 1})) == (404, "not_found")
    assert refused(await owner_client.post("/groups/gold/change", key_rate=0)) == (400, "bad_request")
    assert refused(await owner_client.post("/groups", group="gold")) == (409, "already_there")
    assert refused(await owner_client.post("/groups", group="Gold")) == (422, "refused")


async def test_groups_are_listed_in_pages(owner_client: StaffClient) -> None:
    for name in ("b_", "b-", "a"):
        told(await owner_client.post("/groups", group=name))
    seen, after = [], ""
    while True:
        page = told(await owner_client.get("/groups", limit=2, after=after))
        seen += [group["name"] for group in page["data"]]
        if page["next"] is None:
            break
        after = page["next"]
    assert seen == ["a", "b-", "b_", "restricted", "standard"]


async def test_a_group_is_removed_only_if_nobody_needs_it(
    owner_client: StaffClient, node_eyes: NodeEyes, customers: Customers
) -> None:
    customer = await customers.a_customer()
    told(await owner_client.post("/groups", group="gold"))
    told(await owner_client.post("/models", model="m", only_groups=["gold"]))
    remove = "/groups/gold/remove"
    by_model = await owner_client.post(remove, **WHY)
    assert refused(by_model) == (422, "refused")
    assert "'m' is for the group" in by_model.text
    told(await owner_client.post("/model/change", model="m", only_groups=None))
    path = f"/accounts/{customer.account_id}/group"
    assert told(await owner_client.post(path, group="gold", **WHY)) == {"changed": True}
    assert told(await owner_client.post(path, group="gold", **WHY)) == {"changed": False}
    by_account = await owner_client.post(remove, **WHY)
    assert refused(by_account) == (422, "refused")
    assert "Move them first" in by_account.text
    told(await owner_client.post(path, group="standard", **WHY))
    await node_eyes.learns()
    assert told(await owner_client.post(remove, **WHY)) == {"changed": True}
    assert await node_eyes.learns()
    assert refused(await owner_client.post(remove, **WHY)) == (404, "not_found")
    assert refused(await owner_client.post("/groups/standard/remove", **WHY)) == (422, "refused")
    assert refused(await owner_client.post(path, group="gold", **WHY)) == (404, "not_found")


@pytest.mark.parametrize("path", ["/groups/nobody", "/groups/%00"])
async def test_a_group_that_is_none_is_not_found(owner_client: StaffClient, path: str) -> None:
    assert (await owner_client.get(path)).status in {400, 404}
