"""GET /v1/models, as customers call it."""

import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from urllib.parse import quote

import pytest
from openai import OpenAI

from tests.client import ask
from tests.customers import ACTOR, Customers, a_model_id
from tollkeeper.ports import NewPrice
from tools.node import Node
from tools.services.process import wait_until


def listed(node: Node, key: str) -> set[str]:
    return {model["id"] for model in ask(node, "/v1/models", key=key).json["data"]}


@pytest.mark.rule("R1.1", "R2.1", "E1.1", "V1.1", "V2.1")
async def test_the_list_has_the_conventional_form(node: Node, townsfolk: Customers) -> None:
    customer, model = await townsfolk.a_customer(), await townsfolk.a_model()
    wait_until(lambda: model in listed(node, customer.key), within_seconds=20)
    answer = ask(node, "/v1/models", key=customer.key)
    assert answer.status == 200
    assert answer.json["object"] == "list"
    [entry] = [entry for entry in answer.json["data"] if entry["id"] == model]
    assert entry == {"id": model, "object": "model", "created": entry["created"], "owned_by": "tollkeeper.local"}
    assert type(entry["created"]) is int
    assert abs(entry["created"] - time.time()) < 3600


@pytest.mark.rule("R2.1")
async def test_a_new_model_is_listed_without_a_restart(node: Node, townsfolk: Customers) -> None:
    customer = await townsfolk.a_customer()
    before = listed(node, customer.key)
    model = await townsfolk.a_model()
    wait_until(lambda: listed(node, customer.key) == before | {model}, within_seconds=20)


@pytest.mark.rule("E1.1")
async def test_only_what_the_key_may_use_is_listed(node: Node, townsfolk: Customers) -> None:
    for_all = await townsfolk.a_model()
    for_few = await townsfolk.a_model(only_groups=["restricted"])
    tomorrow = await townsfolk.a_model(
        price=NewPrice(model=Decimal(1), effective_from=datetime.now(UTC) + timedelta(days=1))
    )
    ordinary = await townsfolk.a_customer()
    restricted = await townsfolk.a_customer(group="restricted")
    picky = await townsfolk.a_customer(group="restricted", only_models=[for_few, tomorrow])
    wait_until(lambda: for_few in listed(node, restricted.key), within_seconds=20)

    assert {for_all, for_few, tomorrow} & listed(node, ordinary.key) == {for_all}
    assert {for_all, for_few, tomorrow} & listed(node, restricted.key) == {for_all, for_few}
    assert listed(node, picky.key) == {for_few}


async def test_the_official_sdk_lists_models(node: Node, townsfolk: Customers) -> None:
    customer, model = await townsfolk.a_customer(), await townsfolk.a_model()
    wait_until(lambda: model in listed(node, customer.key), within_seconds=20)
    with OpenAI(base_url=f"{node.base}/v1", api_key=customer.key) as client:
        assert model in {entry.id for entry in client.models.list()}


@pytest.mark.parametrize("ending", ["", "/with:colons@and/slashes.v1"])
async def test_the_official_sdk_retrieves_one_model(node: Node, townsfolk: Customers, ending: str) -> None:
    customer, model = await townsfolk.a_customer(), await townsfolk.a_model(model_id=a_model_id() + ending)
    wait_until(lambda: model in listed(node, customer.key), within_seconds=20)
    [entry] = [each for each in ask(node, "/v1/models", key=customer.key).json["data"] if each["id"] == model]
    # As SDKs send it, with slashes encoded, and as people write it.
    for path in (quote(model, safe=""), model):
        assert ask(node, f"/v1/models/{path}", key=customer.key).json == entry
    with OpenAI(base_url=f"{node.base}/v1", api_key=customer.key) as client:
        assert client.models.retrieve(model).id == model


async def test_a_model_that_cannot_be_used_is_404_in_words(node: Node, townsfolk: Customers) -> None:
    customer, other = await townsfolk.a_customer(), await townsfolk.a_model(only_groups=["restricted"])
    for model in (other, "none-of-that-name"):
        answer = ask(node, f"/v1/models/{model}", key=customer.key)
        assert (answer.status, answer.error["code"]) == (404, "model_not_found")
        assert f"The model '{model}' cannot be used here" in answer.error["message"]
    assert ask(node, f"/v1/models/{other}").status == 401


async def test_a_revoked_key_is_refused_soon(node: Node, townsfolk: Customers) -> None:
    customer = await townsfolk.a_customer()
    assert ask(node, "/v1/models", key=customer.key).status == 200
    await townsfolk.desk.keys.revoke(customer.key_id, account_id=customer.account_id, actor=ACTOR)
    wait_until(lambda: ask(node, "/v1/models", key=customer.key).status == 401, within_seconds=20)
