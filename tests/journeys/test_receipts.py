"""Receipts, as an operator looks them up."""

import pytest

from tests.chat import chat, listening, order, read_until, receipt_of, request_id_in
from tests.client import ask
from tests.command_line import tollkeeper
from tests.customers import DEAR_OUTPUT, Customers
from tollkeeper.storage.usage.receipts import SqlReceipts
from tools.node import Node
from tools.services.process import wait_until

pytestmark = pytest.mark.usefixtures("simulator")


async def test_a_finished_call_is_explained_to_its_owner_and_to_nobody_else(
    town: tuple[dict[str, str], Customers], node: Node, townsfolk: Customers, receipts: SqlReceipts
) -> None:
    customer, model = await townsfolk.a_customer(), await townsfolk.a_model(price=DEAR_OUTPUT)
    wait_until(lambda: model in ask(node, "/v1/models", key=customer.key).text.decode(), within_seconds=20)
    answer = chat(node, customer.key, model, "a canary [[tokens=6 cached=2]]")
    request_id = answer.headers["x-request-id"]
    receipt = await receipt_of(receipts, answer)
    shown = tollkeeper(town[0], "call", "show", request_id, "--account", str(customer.account_id))
    assert shown.returncode == 0
    for told in (
        request_id,
        model,
        f"{receipt.charged_usd} USD",
        receipt.formula,
        "The answer was delivered whole. The provider reported its usage.",
        "account simulator-",
        "status 200",
    ):
        assert told in " ".join(shown.stdout.split())
    assert "canary" not in shown.stdout
    hidden = tollkeeper(town[0], "call", "show", request_id, "--account", str(customer.account_id + 1))
    assert hidden.returncode == 1
    assert "There is no call" in hidden.stderr


async def test_a_call_under_way_is_told_as_such(
    town: tuple[dict[str, str], Customers], node: Node, townsfolk: Customers
) -> None:
    customer, model = await townsfolk.a_customer(), await townsfolk.a_model()
    wait_until(lambda: model in ask(node, "/v1/models", key=customer.key).text.decode(), within_seconds=20)
    body = order(model, "[[tokens=5000 chunk_ms=20]]", stream=True)
    with listening(node, customer.key, body) as stream:
        request_id = request_id_in(read_until(stream, b"\r\n\r\n"))
        shown = tollkeeper(town[0], "call", "show", request_id)
    assert "under way since" in shown.stdout
    assert "USD" in shown.stdout
