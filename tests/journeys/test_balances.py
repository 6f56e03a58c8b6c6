"""The two balance endpoints, and the deprecated ones they replace."""

import re
import time

import pytest

from tests.chat import listening, order, read_until, receipt_of, request_id_in
from tests.client import ask
from tests.customers import Customers
from tollkeeper.core.money.quote import TokenCaps
from tollkeeper.storage.usage.receipts import SqlReceipts
from tools.node import Node
from tools.services.process import wait_until

DEPRECATED_PATHS = pytest.mark.parametrize("path", ["/api/token", "/api/v1/token"])


@pytest.mark.rule("R3.1", "E2.1", "A6.1", "V1.1")
async def test_the_account_balance_is_that_of_the_keys_account(node: Node, townsfolk: Customers) -> None:
    customer = await townsfolk.a_customer(usd="12.3456", quota_usd="1")
    answer = ask(node, "/v2/account/balance", key=customer.key, headers={"Content-Type": "application/json"})
    assert answer.status == 200
    assert answer.json.keys() == {"type", "balance", "timestamp"}
    assert answer.json["type"] == "account"
    assert answer.json["balance"] == {"remained_cash": 12.345, "used_cash": 0.0, "held_cash": 0.0, "currency": "USD"}
    assert abs(answer.json["timestamp"] - time.time()) < 60


@pytest.mark.rule("R3.1", "E2.2", "A6.1")
async def test_the_key_balance_is_that_of_the_key_itself(node: Node, townsfolk: Customers) -> None:
    customer = await townsfolk.a_customer(usd="12", quota_usd="1.5")
    answer = ask(node, "/v2/token/balance", key=customer.key)
    assert answer.status == 200
    assert answer.json["type"] == "token"
    assert answer.json["balance"] == {"remained_cash": 1.5, "used_cash": 0.0, "held_cash": 0.0, "currency": "USD"}


@pytest.mark.rule("R3.2")
@pytest.mark.parametrize("path", ["/v2/account/balance", "/v2/token/balance"])
async def test_cash_has_three_decimals_on_the_wire(node: Node, townsfolk: Customers, path: str) -> None:
    customer = await townsfolk.a_customer(usd="7")
    text = ask(node, path, key=customer.key).text
    assert re.findall(rb'_cash":([0-9.]+)', text) == [b"7.000", b"0.000", b"0.000"]


@pytest.mark.usefixtures("simulator")
async def test_what_a_running_call_holds_is_told_as_held_and_comes_back(
    node: Node, townsfolk: Customers, receipts: SqlReceipts
) -> None:
    customer = await townsfolk.a_customer(usd="10", quota_usd="5")
    model = await townsfolk.a_model(limits=TokenCaps(max_output_tokens=1_000_000))

    def cash(path: str) -> tuple[float, float, float]:
        told = ask(node, path, key=customer.key).json["balance"]
        return told["remained_cash"], told["used_cash"], told["held_cash"]

    wait_until(lambda: model in ask(node, "/v1/models", key=customer.key).text.decode(), within_seconds=30)
    body = order(model, "[[tokens=40 chunk_ms=100]]", stream=True, max_tokens=500_000)
    with listening(node, customer.key, body) as stream:
        begun = read_until(stream, b"data: ")
        for path, whole in (("/v2/account/balance", 10), ("/v2/token/balance", 5)):
            remained, used, held = cash(path)
            assert held > 0.9
            assert used == 0
            # What remains is rounded down.
            assert remained + held == pytest.approx(whole, abs=0.002)
        ended = begun + read_until(stream, b"data: [DONE]")
    assert (await receipt_of(receipts, request_id_in(ended))).charged > 0
    assert cash("/v2/account/balance")[2] == 0


async def test_an_unlimited_key_reports_what_it_can_draw(node: Node, townsfolk: Customers) -> None:
    customer = await townsfolk.a_customer(usd="3")
    assert ask(node, "/v2/token/balance", key=customer.key).json["balance"]["remained_cash"] == 3.0


@DEPRECATED_PATHS
@pytest.mark.rule("R7.1", "E8.1", "E8.2", "A3.1", "V3.1")
async def test_the_deprecated_lookup_still_answers_and_names_its_successor(
    node: Node, townsfolk: Customers, path: str
) -> None:
    customer = await townsfolk.a_customer(usd="20", quota_usd="2.5")
    answer = ask(node, path, method="POST", body={"api_key": customer.key})
    assert answer.status == 200
    assert answer.json == {"Status": 1, "Total": 2.5, "Used": 0.0, "Remaining": 2.5}
    assert "/v2/token/balance" in answer.headers["link"]
    assert answer.headers["deprecation"].startswith("@")


@DEPRECATED_PATHS
@pytest.mark.rule("A3.1")
async def test_the_deprecated_lookup_takes_no_key_from_the_header(node: Node, townsfolk: Customers, path: str) -> None:
    customer = await townsfolk.a_customer()
    assert ask(node, path, method="POST", key=customer.key, body={}).status == 400


@DEPRECATED_PATHS
@pytest.mark.rule("E8.3", "X4.1", "R7.1")
@pytest.mark.parametrize(
    ("body", "status"),
    [
        pytest.param({}, 400, id="missing"),
        pytest.param({"api_key": ""}, 400, id="empty"),
        pytest.param({"api_key": None}, 400, id="null"),
        pytest.param({"api_key": 7}, 400, id="a number"),
        pytest.param([], 400, id="not an object"),
        pytest.param(b"{", 400, id="not JSON"),
        pytest.param(b'{"api_key": "\xff"}', 400, id="not UTF-8"),
        pytest.param({"api_key": "sk-" + "a" * 49}, 200, id="unknown"),
        pytest.param({"api_key": "'; drop table api_key; --"}, 200, id="not a key at all"),
        pytest.param({"api_key": "x" * 5000}, 413, id="huge"),
    ],
)
async def test_the_deprecated_lookup_words_errors_its_own_way(node: Node, path: str, body: object, status: int) -> None:
    answer = ask(node, path, method="POST", body=body)
    assert answer.status == status
    assert answer.json.keys() == {"Status", "Error"}
    assert answer.json["Status"] == 0
    assert answer.json["Error"]
    assert "deprecation" in answer.headers


@pytest.mark.rule("X4.1", "S11.4")
async def test_the_wrong_method_on_the_deprecated_lookup_is_worded_so_too(node: Node) -> None:
    answer = ask(node, "/api/token")
    assert answer.status == 405
    assert answer.headers["allow"] == "POST"
    assert answer.json["Status"] == 0
    assert "will not help" in answer.json["Error"]
