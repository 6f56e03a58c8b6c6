"""Models, prices and groups at staff's pages: in USD, looked at before they are announced, and refused in words."""

from uuid import uuid4

import asyncpg
import msgspec
import pytest
from starlette.applications import Starlette

from tests.console.browser import Answer, Browser
from tests.console.test_staff_pages import staff_browser
from tests.customers import Customers
from tests.people import People
from tests.storage.usage.rows import Counted, a_call
from tollkeeper.core.money.parts import PriceParts
from tollkeeper.core.money.prices import MILLIONTHS, Usage
from tollkeeper.core.people.logins import Role

PRICE = {"usd_unit": "2.50", "usd_output": "10", "usd_cached": "0.25"}


@pytest.fixture
async def operator(application: Starlette, people: People) -> Browser:
    return await staff_browser(application, people, Role.OPERATOR)


def a_name(what: str) -> str:
    return f"{what}/{uuid4().hex[:8]}"


async def added(operator: Browser, model: str, **more: str) -> Answer:
    await operator.get("/staff/models/new")
    answer = await operator.post("/staff/models/new", model=model, who="all", **(PRICE | more))
    assert answer.status == 303, answer.text
    return await operator.follow()


async def test_a_model_is_added_in_usd_edited_hidden_and_offered_again(
    operator: Browser, town_owner: asyncpg.Connection
) -> None:
    model = a_name("vendor")
    page = await added(operator, model, kind="chat", max_output_tokens="99")
    assert "$2.50" in page.text
    assert "$10.00" in page.text
    row = await town_owner.fetchrow("select * from price where model_id = $1", model)
    assert [float(row[name]) for name in ("model_multiplier", "completion_multiplier", "cached_multiplier")] == [
        1.25,
        4.0,
        0.1,
    ]
    listed = await operator.get("/staff/models?kind=chat&hidden=false")
    assert model in listed.text or "Older" in listed.text
    one = f"/staff/models/one?model={model}"
    await operator.get(one)
    limits = {"context_tokens": "1000", "max_output_tokens": "50", "hold_output_tokens": "10", "hold_part_tokens": "7"}
    await operator.post("/staff/models/change", model=model, who="some", only_groups="restricted", **limits)
    page = await operator.follow()
    assert 'value="1000"' in page.text
    assert "The model is changed" in page.text
    await operator.post("/staff/models/hide", model=model, reason="a test")
    assert "hidden since" in (await operator.follow()).text
    early = await operator.post("/staff/models/remove", model=model, reason="a test")
    assert (early.status, "Hide it, wait for a minute" in early.text) == (422, True)
    await operator.post("/staff/models/unhide", model=model, reason="a test")
    assert "· offered" in (await operator.follow()).text
    await operator.post("/staff/models/hide", model=model, reason="a test")
    await town_owner.execute("update model set retired_at = retired_at - interval '2 minutes' where id = $1", model)
    await operator.get(one)
    await operator.post("/staff/models/remove", model=model, reason="a test")
    assert "The model is removed" in (await operator.follow()).text
    assert (await operator.get(one)).status == 404


async def test_what_would_be_rounded_is_refused_with_the_nearest_exact_prices(operator: Browser) -> None:
    await operator.get("/staff/models/new")
    typed = {"usd_unit": "0.30", "usd_output": "2.5000001"}
    answer = await operator.post("/staff/models/new", model=a_name("x"), who="all", **typed)
    assert answer.status == 422
    assert "would have to be rounded" in answer.text
    assert "2.50 and 2.500002 USD" in answer.text
    # What was typed is still there.
    assert 'value="0.30"' in answer.text


async def test_prices_that_do_not_divide_tiers_tools_and_sizes_are_typed_on_the_form(
    operator: Browser, town_owner: asyncpg.Connection
) -> None:
    model = a_name("flash")
    await added(operator, model, usd_unit="0.30", usd_cached="0.03", usd_output="2.50")
    change = f"/staff/prices/change?model={model}"
    page = await operator.get(change)
    assert 'value="2.50"' in page.text
    row = {"model": model, "usd_unit": "0.30", "usd_cached": "0.03", "usd_output": "2.50"}
    tiers = {"tier_above": "200,000", "tier_unit": "0.60", "tier_cached": "", "tier_output": "3.75"}
    sent = row | tiers | {"tool_name": "web_search", "tool_usd": "0.01"}
    page = await operator.post("/staff/prices/preview", **sent)
    assert (page.status, "Nobody called it" in page.text, 'value="200,000"' in page.text) == (200, True, True)
    await operator.post("/staff/prices/change", **sent, forced_because="a test")
    page = await operator.follow()
    assert "a million output tokens (above 200,000 input tokens)" in page.text
    found = await town_owner.fetchval("select parts from price where model_id = $1 order by id desc limit 1", model)
    parts = msgspec.json.decode(found, type=PriceParts)
    assert (parts.input, parts.tools) == (150_000, {"web_search": 5_000_000_000})
    [tier] = parts.tiers
    assert (tier.above_tokens, tier.model * (tier.input or 0), tier.model * (tier.completion or 0)) == (
        200_000,
        300_000 * MILLIONTHS,
        1_875_000 * MILLIONTHS,
    )


async def test_a_size_that_is_new_gets_its_price_on_a_form(operator: Browser, town_owner: asyncpg.Connection) -> None:
    model = a_name("pictures")
    none = {"usd_unit": "", "usd_output": "", "usd_cached": ""}
    await added(operator, model, kind="image", sizes="1024x1024 = 0.04", **none)
    assert "Price another size" in (await operator.get(f"/staff/prices/model?model={model}")).text
    page = await operator.get(f"/staff/prices/change?model={model}")
    assert 'name="variant"' in page.text
    answer = await operator.post("/staff/prices/change", model=model, variant="large", usd_unit="0.08")
    assert (answer.status, "is not the size of an image" in answer.text) == (422, True)
    await operator.post("/staff/prices/change", model=model, variant="1792x1024 hd", usd_unit="0.08")
    assert "1792x1024 hd" in (await operator.follow()).text
    sizes = await town_owner.fetch(
        "select variant, model_multiplier::int from price where model_id = $1 order by 1", model
    )
    assert [tuple(row) for row in sizes] == [("1024x1024", 20_000), ("1792x1024 hd", 40_000)]


async def test_images_are_priced_by_size_and_a_line_that_is_none_is_named(operator: Browser) -> None:
    model = a_name("pictures")
    page = await added(
        operator,
        model,
        kind="image",
        usd_unit="",
        usd_output="",
        usd_cached="",
        sizes="1024x1024 = 0.04\n512x512=$0.02",
    )
    assert "$0.04" in page.text
    assert "512x512" in page.text
    answer = await operator.post("/staff/models/new", model=a_name("y"), kind="image", sizes="large", who="all")
    assert (answer.status, "is not the price of a size" in answer.text) == (422, True)


async def test_what_a_vendor_prices_apart_is_told_on_the_page(operator: Browser) -> None:
    await operator.get("/staff/models/new")
    answer = await operator.post(
        "/staff/models/new", model=f"claude-{uuid4().hex[:6]}", usd_unit="3", usd_output="15", who="all"
    )
    assert answer.status == 200
    assert "cached 0.1" in answer.text


async def test_a_price_is_previewed_over_real_calls_announced_and_withdrawn(
    operator: Browser, townsfolk: Customers, town_owner: asyncpg.Connection
) -> None:
    model = a_name("m")
    await added(operator, model)
    customer = await townsfolk.a_customer()
    price = await town_owner.fetchval("select id from price where model_id = $1", model)
    usage = Counted(Usage(1_000_000, 1_000_000), charged=6_250_000_000_000)
    await a_call(town_owner, customer, price, usage=usage)
    page = await operator.get(f"/staff/prices/change?model={model}")
    assert 'value="2.50"' in page.text
    sent = {"model": model, "variant": "", "usd_unit": "5", "usd_output": "10.00", "usd_cached": "0.25", "days": "3"}
    page = await operator.post("/staff/prices/preview", **sent)
    assert page.status == 200, page.text
    assert "$12.50" in page.text
    assert "$15.00" in page.text
    assert "+20.0 %" in page.text
    assert "1 dearer" in page.text
    assert await town_owner.fetchval("select count(*) from price where model_id = $1", model) == 1
    await operator.post("/staff/prices/change", **sent)
    page = await operator.follow()
    assert "announced" in page.text
    new = await town_owner.fetchrow("select * from price where model_id = $1 and id <> $2", model, price)
    # Output and cached input cost what they did.
    assert [float(new[name]) for name in ("model_multiplier", "completion_multiplier", "cached_multiplier")] == [
        2.5,
        2.0,
        0.05,
    ]
    assert model in (await operator.get("/staff/prices?time=coming")).text
    assert (await operator.post(f"/staff/prices/{new['id']}/withdraw", reason="")).status == 422
    await operator.post(f"/staff/prices/{new['id']}/withdraw", reason="a slip")
    assert "withdrawn" in (await operator.follow()).text
    history = await operator.get(f"/staff/prices/model?model={model}")
    assert "a slip" in history.text


async def test_a_change_that_is_none_or_too_soon_is_refused_on_the_form(operator: Browser) -> None:
    model = a_name("m")
    await added(operator, model)
    same = {"model": model, "variant": "", "usd_unit": "2.50", "usd_output": "10.00", "usd_cached": "0.25"}
    await operator.get(f"/staff/prices/change?model={model}")
    answer = await operator.post("/staff/prices/change", **same)
    assert (answer.status, "becomes another one" in answer.text) == (422, True)
    soon = same | {"usd_unit": "5", "effective_from": "2001-01-01T00:00"}
    answer = await operator.post("/staff/prices/change", **soon)
    assert (answer.status, "That is too soon" in answer.text) == (422, True)
    answer = await operator.post("/staff/prices/change", **(same | {"usd_unit": "a lot"}))
    assert (answer.status, "is not a price in USD" in answer.text) == (422, True)
    assert (await operator.get("/staff/prices/change?model=nonesuch")).status == 404


async def test_a_group_is_made_changed_with_a_reason_and_removed(
    operator: Browser, town_owner: asyncpg.Connection
) -> None:
    group, model = f"g{uuid4().hex[:8]}", a_name("m")
    await added(operator, model)
    await operator.get("/staff/groups/new")
    limits = {"key_rate": "5", "standard_rate": "", "peak_percent": "150", "concurrency": "2"}
    rates = {"model_rates": f"{model} = 7", "kind_chat": "9"}
    await operator.post("/staff/groups/new", group=group, multiplier="0.8", **limits, **rates)
    page = await operator.follow()
    assert 'value="0.8"' in page.text
    row = await town_owner.fetchrow("select * from account_group where name = $1", group)
    assert (row["key_rate"], row["standard_rate"], row["concurrency"]) == (5, None, 2)
    changed = {"group": group, "multiplier": "0.7", **limits, "key_rate": "6"}
    answer = await operator.post("/staff/groups/change", **changed)
    assert (answer.status, "reason" in answer.text.lower()) == (422, True)
    await operator.post("/staff/groups/change", **changed, reason="a deal")
    await operator.follow()
    row = await town_owner.fetchrow("select * from account_group where name = $1", group)
    # What is not on the form any more is gone.
    assert (row["key_rate"], str(row["multiplier"]), row["model_rates"]) == (6, "0.700000", "{}")
    # The same multiplier needs no reason.
    await operator.post("/staff/groups/change", **(changed | {"key_rate": "7"}))
    assert operator.page.status == 303
    await operator.follow()
    bad = await operator.post("/staff/groups/change", **changed, model_rates="many")
    assert (bad.status, "is not a rate" in bad.text) == (422, True)
    assert group in (await operator.get("/staff/groups")).text
    await operator.get(f"/staff/groups/one?group={group}")
    await operator.post("/staff/groups/remove", group=group, reason="over")
    assert "The group is removed" in (await operator.follow()).text
    assert (await operator.get(f"/staff/groups/one?group={group}")).status == 404


async def test_support_reads_and_sees_no_button_that_would_be_refused(application: Starlette, people: People) -> None:
    support = await staff_browser(application, people, Role.SUPPORT)
    for path, words in (
        ("/staff/models", "/staff/models/new"),
        ("/staff/groups", "/staff/groups/new"),
        ("/staff/codes", "/staff/codes/new"),
        ("/staff/announcements", "Announce something"),
    ):
        page = await support.get(path)
        assert (page.status, words in page.text) == (200, False), path
