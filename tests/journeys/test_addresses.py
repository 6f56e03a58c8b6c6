"""One service, four kinds of address, told apart by the Host header."""

import pytest

from tests.client import Answer, ask
from tests.customers import Customers
from tools.node import Node

API_PATHS = ("/v1/models", "/v2/account/balance", "/v2/token/balance")


def look_up(node: Node, host: str, key: str) -> Answer:
    return ask(node, "/api/token", method="POST", headers={"Host": host}, body={"api_key": key})


@pytest.mark.rule("L4.2")
@pytest.mark.parametrize("host", ["main.test", "MAIN.test:8080", "backup.test"])
async def test_main_and_backup_serve_the_same_paths(addressed_node: Node, townsfolk: Customers, host: str) -> None:
    key = (await townsfolk.a_customer()).key
    assert [ask(addressed_node, path, key=key, headers={"Host": host}).status for path in API_PATHS] == [200] * 3


@pytest.mark.rule("A5.1")
@pytest.mark.parametrize("host", ["agent-one.test", "agent-two.test:443"])
async def test_resellers_addresses_take_the_same_keys_and_tell_balances(
    addressed_node: Node, townsfolk: Customers, host: str
) -> None:
    customer = await townsfolk.a_customer(usd="4")
    answers = [ask(addressed_node, path, key=customer.key, headers={"Host": host}) for path in API_PATHS]
    assert [answer.status for answer in answers] == [200] * 3
    assert answers[1].json["balance"]["remained_cash"] == 4.0


@pytest.mark.rule("E8.1")
async def test_the_billing_address_serves_the_deprecated_lookup_and_nothing_else(
    addressed_node: Node, townsfolk: Customers
) -> None:
    key = (await townsfolk.a_customer()).key
    assert look_up(addressed_node, "billing.test:8443", key).json["Status"] == 1
    for path in API_PATHS:
        assert ask(addressed_node, path, key=key, headers={"Host": "billing.test:8443"}).status == 404


@pytest.mark.parametrize("host", ["main.test", "backup.test", "agent-one.test"])
async def test_the_other_addresses_do_not_serve_the_deprecated_lookup(
    addressed_node: Node, townsfolk: Customers, host: str
) -> None:
    key = (await townsfolk.a_customer()).key
    assert look_up(addressed_node, host, key).status == 404


@pytest.mark.rule("X1.404")
@pytest.mark.parametrize("host", ["other.test", "billing.test", "main.test.evil", "127.0.0.1"])
async def test_an_unknown_host_is_404(addressed_node: Node, townsfolk: Customers, host: str) -> None:
    key = (await townsfolk.a_customer()).key
    answer = ask(addressed_node, "/v1/models", key=key, headers={"Host": host})
    assert answer.status == 404
    assert answer.error["code"] == "address_unknown"
