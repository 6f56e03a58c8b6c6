"""Keys that are changed and rotated while they are in use."""

import pytest

from tests.client import ask
from tests.customers import ACTOR, Customer, Customers
from tollkeeper.accounts.keys import IssuedKey, change_key, rotate_key
from tollkeeper.core.client_ip import read_networks
from tollkeeper.ports import KeyChange
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
