"""Keys that are changed, rotated and paused while they are in use."""

import pytest

from tests.chat import chat, listening, order, read_until, receipt_of, request_id_in
from tests.client import ask
from tests.customers import ACTOR, Customer, Customers
from tollkeeper.accounts.keys import IssuedKey, change_key, rotate_key
from tollkeeper.core.client_ip import read_networks
from tollkeeper.core.money.charge import Ending
from tollkeeper.ports import KeyChange
from tollkeeper.storage.usage.receipts import SqlReceipts
from tools.node import Node
from tools.services.process import wait_until


def status(node: Node, key: str) -> int:
    return ask(node, "/v2/token/balance", key=key).status


async def rotated(townsfolk: Customers, customer: Customer, keep_seconds: int) -> IssuedKey:
    desk = townsfolk.desk
    return await rotate_key(
        customer.key_id, keep_seconds, desk.key_maker, desk.keys, account_id=customer.account_id, actor=ACTOR
    )


async def test_a_rotated_key_works_at_once_and_the_old_text_only_where_it_is_kept(
    node: Node, townsfolk: Customers
) -> None:
    customer = await townsfolk.a_customer()
    assert status(node, customer.key) == 200
    kept = await rotated(townsfolk, customer, 3_600)
    assert status(node, kept.key) == 200
    assert status(node, customer.key) == 200
    new = await rotated(townsfolk, customer, 0)
    assert status(node, new.key) == 200
    wait_until(lambda: status(node, kept.key) == 401, within_seconds=30)
    assert status(node, customer.key) == 401


async def test_revoking_a_rotated_key_reaches_both_of_its_texts(node: Node, townsfolk: Customers) -> None:
    customer = await townsfolk.a_customer()
    new = await rotated(townsfolk, customer, 3_600)
    assert (status(node, customer.key), status(node, new.key)) == (200, 200)
    await townsfolk.desk.keys.revoke(customer.key_id, account_id=customer.account_id, actor=ACTOR)
    wait_until(lambda: status(node, new.key) == 401, within_seconds=30)
    wait_until(lambda: status(node, customer.key) == 401, within_seconds=30)


@pytest.mark.rule("R4.1")
async def test_a_key_bound_to_networks_is_refused_elsewhere_and_says_why(node: Node, townsfolk: Customers) -> None:
    customer = await townsfolk.a_customer()
    elsewhere = KeyChange(only_networks=read_networks(["203.0.113.0/24"]))
    await change_key(customer.key_id, elsewhere, townsfolk.desk.keys, account_id=customer.account_id, actor=ACTOR)
    wait_until(lambda: status(node, customer.key) == 403, within_seconds=30)
    refused = ask(node, "/v2/token/balance", key=customer.key, headers={"X-Forwarded-For": "203.0.113.7"})
    assert refused.status == 403
    assert refused.error["code"] == "network_not_allowed"
    assert refused.headers["x-should-retry"] == "false"
    here = KeyChange(only_networks=read_networks(["203.0.113.0/24", "127.0.0.0/8"]))
    await change_key(customer.key_id, here, townsfolk.desk.keys, account_id=customer.account_id, actor=ACTOR)
    wait_until(lambda: status(node, customer.key) == 200, within_seconds=30)


async def test_a_paused_key_is_refused_by_the_node_until_it_is_resumed(node: Node, townsfolk: Customers) -> None:
    customer, bystander = await townsfolk.a_customer(), await townsfolk.a_customer()
    old = customer.key
    new = (await rotated(townsfolk, customer, 3_600)).key
    assert [status(node, key) for key in (old, new, bystander.key)] == [200, 200, 200]
    assert await townsfolk.desk.keys.pause(customer.key_id, account_id=customer.account_id, actor=ACTOR)
    for key in (old, new):
        wait_until(lambda key=key: status(node, key) == 401, within_seconds=30)  # type: ignore[misc]
    refused = ask(node, "/v1/models", key=new)
    assert (refused.status, refused.error["code"]) == (401, "paused_api_key")
    assert "paused" in refused.error["message"]
    assert "resume the key in the console" in refused.error["message"]
    assert status(node, bystander.key) == 200
    assert await townsfolk.desk.keys.resume(customer.key_id, account_id=customer.account_id, actor=ACTOR)
    for key in (old, new):
        wait_until(lambda key=key: status(node, key) == 200, within_seconds=30)  # type: ignore[misc]


@pytest.mark.usefixtures("simulator")
async def test_a_stream_that_runs_while_its_key_is_paused_goes_on_and_is_charged(
    node: Node, townsfolk: Customers, receipts: SqlReceipts
) -> None:
    customer, model = await townsfolk.a_customer(), await townsfolk.a_model()
    wait_until(lambda: model in ask(node, "/v1/models", key=customer.key).text.decode(), within_seconds=30)
    body = order(model, "[[tokens=60 chunk_ms=100]]", stream=True)
    with listening(node, customer.key, body) as connection:
        begun = read_until(connection, b"data: ")
        await townsfolk.desk.keys.pause(customer.key_id, account_id=customer.account_id, actor=ACTOR)
        wait_until(lambda: status(node, customer.key) == 401, within_seconds=30)
        assert chat(node, customer.key, model, "hello").status == 401
        ended = begun + read_until(connection, b"data: [DONE]")
    receipt = await receipt_of(receipts, request_id_in(ended))
    assert (receipt.ending, receipt.usage.output_units) == (Ending.COMPLETED, 60)
    assert receipt.charged == (receipt.usage.input_units + 60) * 1_000_000
