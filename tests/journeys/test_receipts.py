"""Receipts, as an operator looks them up."""

from functools import partial

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


async def test_a_call_that_was_refused_is_explained_to_support_for_a_day(
    town: tuple[dict[str, str], Customers], node: Node, townsfolk: Customers
) -> None:
    poor, model = await townsfolk.a_customer(usd=None), await townsfolk.a_model()
    wait_until(lambda: model in ask(node, "/v1/models", key=poor.key).text.decode(), within_seconds=20)
    short = chat(node, poor.key, model, "a canary")
    assert short.status == 403
    await townsfolk.desk.keys.pause(poor.key_id, account_id=poor.account_id, actor="a test")
    wait_until(lambda: chat(node, poor.key, model, "a canary").status == 401, within_seconds=20)
    paused = chat(node, poor.key, model, "a canary")
    for answer, code in ((short, short.error["code"]), (paused, "paused_api_key")):
        request_id = answer.headers["x-request-id"]
        asked = partial(tollkeeper, town[0], "call", "show", request_id)
        wait_until(lambda asked=asked: asked().returncode == 0, within_seconds=60)  # type: ignore[misc]
        shown = tollkeeper(town[0], "call", "show", request_id, "--account", str(poor.account_id)).stdout
        assert code in shown
        assert "nothing was charged" in " ".join(shown.split())
        assert "canary" not in shown
    stranger = chat(node, "sk-" + "x" * 49, model, "a canary").headers["x-request-id"]
    assert tollkeeper(town[0], "call", "show", stranger).returncode == 1
