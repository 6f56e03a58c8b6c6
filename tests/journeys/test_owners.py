"""What owners of agents have: calls that are paid for once, and no more than so much; quotes; receipts by key."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from uuid import uuid4

import pytest

from tests.chat import PATH, chat, chunks, listening, order, read_until, receipt_of, request_id_in
from tests.client import Answer, ask
from tests.customers import DEAR_OUTPUT, Customer, Customers
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.money.amounts import usd_exact
from tollkeeper.core.money.charge import Ending
from tollkeeper.ports import NewPrice
from tollkeeper.storage.usage.receipts import SqlReceipts
from tools.node import Node
from tools.services.process import wait_until
from tools.simulator import Simulator

pytestmark = pytest.mark.usefixtures("simulator")

MAIN = {"Host": "main.test"}
QUOTE = "/v2/quote"


async def a_caller(folk: Customers, node: Node, headers: dict[str, str] | None = None) -> tuple[Customer, str]:
    customer, model = await folk.a_customer(), await folk.a_model(price=DEAR_OUTPUT)

    def is_known() -> bool:
        return model in ask(node, "/v1/models", key=customer.key, headers=headers).text.decode()

    wait_until(is_known, within_seconds=20)
    return customer, model


def a_key() -> dict[str, str]:
    return {"Idempotency-Key": str(uuid4())}


def call_of(node: Node, customer: Customer, request_id: str) -> Answer:
    return ask(node, f"/v2/calls/{request_id}", key=customer.key)


async def test_the_second_with_a_key_gets_the_receipt_of_the_first(
    node: Node, townsfolk: Customers, receipts: SqlReceipts
) -> None:
    customer, model = await a_caller(townsfolk, node)
    key = a_key()
    first = chat(node, customer.key, model, "[[tokens=6]]", headers=key)
    assert first.status == 200
    receipt = await receipt_of(receipts, first)
    again = chat(node, customer.key, model, "[[tokens=6]]", headers=key)
    assert (again.status, again.error["code"], again.error["type"]) == (409, "call_repeated", "idempotency_error")
    assert (again.headers["x-should-retry"], again.headers["x-original-request-id"]) == (
        "false",
        first.headers["x-request-id"],
    )
    assert again.error["receipt"] == {
        "request_id": first.headers["x-request-id"],
        "state": "settled",
        "charged_usd": usd_exact(receipt.charged),
        "url": f"/v2/calls/{first.headers['x-request-id']}",
    }
    assert ask(node, again.error["receipt"]["url"], key=customer.key).json["charged_usd"] == usd_exact(receipt.charged)
    other = chat(node, customer.key, model, "[[tokens=7]]", headers=key)
    assert (other.status, other.error["code"]) == (422, "idempotency_key_reused")
    # Another account, and another key of the same: theirs is theirs.
    stranger = await townsfolk.a_customer()
    assert chat(node, stranger.key, model, "[[tokens=6]]", headers=key).status == 200
    sibling = await townsfolk.a_key(customer.account_id)
    told = chat(node, sibling.key, model, "[[tokens=6]]", headers=key)
    assert (told.status, "receipt" in told.error, "x-original-request-id" in told.headers) == (409, False, False)


async def test_a_key_whose_call_was_refused_runs_at_once(node: Node, townsfolk: Customers) -> None:
    customer, model = await a_caller(townsfolk, node)
    key = a_key()
    for _ in range(3):
        assert chat(node, customer.key, model, "[[status=400]]", headers=key).status == 400
    assert chat(node, customer.key, model, "[[tokens=2]]", headers=key).status == 200


async def test_two_nodes_and_many_at_once_agree_on_the_first(
    node: Node, addressed_node: Node, townsfolk: Customers, receipts: SqlReceipts
) -> None:
    customer, model = await a_caller(townsfolk, node)
    wait_until(
        lambda: model in ask(addressed_node, "/v1/models", key=customer.key, headers=MAIN).text.decode(),
        within_seconds=20,
    )
    key = a_key()

    def call(number: int) -> Answer:
        chosen, headers = (addressed_node, key | MAIN) if number % 2 else (node, key)
        return chat(chosen, customer.key, model, "[[tokens=3 delay_ms=200]]", headers=headers)

    with ThreadPoolExecutor(24) as callers:
        answers = await asyncio.gather(
            *(asyncio.get_running_loop().run_in_executor(callers, call, number) for number in range(24))
        )
    assert sorted(answer.status for answer in answers) == [200, *[409] * 23]
    [paid] = [answer for answer in answers if answer.status == 200]
    receipt = await receipt_of(receipts, paid)
    told = ask(node, "/v2/token/balance", key=customer.key).json["balance"]["used_cash"]
    assert Decimal(str(told)) == round(Decimal(usd_exact(receipt.charged)), 3)


async def test_a_retry_after_a_cut_is_not_paid_for_again(
    hasty_node: Node, townsfolk: Customers, receipts: SqlReceipts
) -> None:
    customer, model = await a_caller(townsfolk, hasty_node, MAIN)
    text = "[[tokens=9 delay_ms=2500]]"
    cut = chat(hasty_node, customer.key, model, text, headers=MAIN)
    assert cut.status == 524
    retry = MAIN | {"x-stainless-retry-count": "1"}
    again = chat(hasty_node, customer.key, model, text, headers=retry)
    assert (again.status, again.error["code"]) == (409, "call_running")
    assert again.error["receipt"]["request_id"] == cut.headers["x-request-id"]
    await receipt_of(receipts, cut)
    again = chat(hasty_node, customer.key, model, text, headers=retry)
    assert (again.status, again.error["code"]) == (409, "call_repeated")


async def test_a_stream_ends_at_what_its_caller_allows_and_says_what_it_cost(
    node: Node, townsfolk: Customers, receipts: SqlReceipts, simulator: Simulator
) -> None:
    customer, model = await a_caller(townsfolk, node)
    text, options = "[[tokens=400 chunk_ms=2]]", {"stream": True, "stream_options": {"include_usage": True}}
    quoted = ask(node, QUOTE, method="POST", key=customer.key, body=order(model, text, **options))
    most = Decimal(quoted.json["least_usd"]) + 100 * 4 * Decimal("0.000002")
    answer = chat(node, customer.key, model, text, headers={"x-max-charge-usd": str(most)}, **options)
    *_, finish, used = chunks(answer.text)
    assert finish["choices"][0]["finish_reason"] == "length"
    receipt = await receipt_of(receipts, answer)
    assert Decimal(str(used["usage"]["cost"])) == Decimal(usd_exact(receipt.charged)) <= most
    assert Decimal(usd_exact(receipt.held)) <= most
    assert receipt.ending is Ending.COMPLETED
    dear = chat(node, customer.key, model, text, headers={"x-max-charge-usd": "0.000002"}, **options)
    assert (dear.status, dear.error["code"]) == (400, "input_above_max_charge")
    junk = chat(node, customer.key, model, text, headers={"x-max-charge-usd": "1e3"}, **options)
    assert (junk.status, junk.error["code"]) == (400, "invalid_header")


async def test_a_quote_holds_what_the_call_then_costs(
    node: Node, townsfolk: Customers, receipts: SqlReceipts, simulator: Simulator
) -> None:
    customer, model = await a_caller(townsfolk, node)
    body = order(model, "[[tokens=20]]", max_tokens=50)
    quoted = ask(node, QUOTE, method="POST", key=customer.key, body=body)
    assert quoted.status == 200
    told = quoted.json
    answer = ask(node, PATH, method="POST", key=customer.key, body=body)
    receipt = await receipt_of(receipts, answer)
    assert (told["object"], told["model"], told["unit"]) == ("quote", model, "token")
    assert told["input"] == receipt.usage.input_units
    assert told["held_usd"] == usd_exact(receipt.held)
    charged = Decimal(usd_exact(receipt.charged))
    assert Decimal(told["least_usd"]) <= charged <= Decimal(told["likely_usd"]) < Decimal(told["most_usd"])
    standing = ask(node, "/v2/token/balance", key=customer.key).json["balance"]
    assert standing["held_cash"] == 0


async def test_a_quote_for_speech_is_exact_and_what_cannot_be_quoted_is_named(node: Node, townsfolk: Customers) -> None:
    customer = await townsfolk.a_customer()
    model = await townsfolk.a_model(kind=Kind.SPEECH, price=NewPrice(model=Decimal(5)))
    wait_until(lambda: model in ask(node, "/v1/models", key=customer.key).text.decode(), within_seconds=20)
    body = {"endpoint": "/v1/audio/speech", "model": model, "input": "hello", "voice": "alloy"}
    quoted = ask(node, QUOTE, method="POST", key=customer.key, body=body)
    assert (quoted.json["unit"], quoted.json["input"]) == ("character", 5)
    assert quoted.json["least_usd"] == quoted.json["most_usd"] == "0.00005"
    del body["endpoint"]
    spoken = ask(node, "/v1/audio/speech", method="POST", key=customer.key, body=body)
    assert (spoken.status, spoken.headers["x-charged-usd"]) == (200, "0.00005")
    unknown = ask(node, QUOTE, method="POST", key=customer.key, body={"endpoint": "/v1/audio/transcriptions"})
    assert (unknown.status, unknown.error["param"]) == (400, "endpoint")
    assert ask(node, QUOTE, method="POST", body=body).status == 401


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("/v1/messages", {"messages": [{"role": "user", "content": "[[tokens=20]]"}], "max_tokens": 50}),
        ("/v1/responses", {"input": "[[tokens=20]]", "max_output_tokens": 50}),
    ],
)
async def test_a_quote_for_another_protocol_is_that_of_the_call(
    node: Node, townsfolk: Customers, receipts: SqlReceipts, path: str, asked: dict[str, object]
) -> None:
    customer, model = await a_caller(townsfolk, node)
    body = {"model": model} | asked
    quoted = ask(node, QUOTE, method="POST", key=customer.key, body={"endpoint": path} | body)
    assert (quoted.status, quoted.json["endpoint"], quoted.json["unit"]) == (200, path, "token")
    receipt = await receipt_of(receipts, ask(node, path, method="POST", key=customer.key, body=body))
    assert (quoted.json["input"], quoted.json["held_usd"]) == (receipt.usage.input_units, usd_exact(receipt.held))
    assert receipt.charged <= receipt.held


@pytest.mark.parametrize(("path", "status"), [("/v1/chat/completions", 400), ("/v1/messages", 200)])
async def test_marks_for_a_cache_need_a_price_in_a_quote_as_in_the_call_unless_they_are_left_out(
    node: Node, townsfolk: Customers, path: str, status: int
) -> None:
    customer, model = await a_caller(townsfolk, node)
    marked = {"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral", "ttl": "1h"}}
    body = {"model": model, "max_tokens": 9, "messages": [{"role": "user", "content": [marked]}]}
    quoted = ask(node, QUOTE, method="POST", key=customer.key, body={"endpoint": path} | body)
    called = ask(node, path, method="POST", key=customer.key, body=body)
    assert quoted.status == called.status == status
    if status == 400:
        assert "has no price at this model" in quoted.error["message"]
        assert quoted.error["message"] == called.error["message"]


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
async def test_what_two_readers_read_differently_is_refused_in_a_quote_as_in_the_call(
    node: Node, townsfolk: Customers, path: str
) -> None:
    customer, model = await a_caller(townsfolk, node)
    rest = f'"model": "{model}", "messages": [{{"role": "user", "content": "Hi"}}], "max_tokens": 9, "max_tokens": 8}}'
    quoted = ask(node, QUOTE, method="POST", key=customer.key, body=f'{{"endpoint": "{path}", {rest}'.encode())
    called = ask(node, path, method="POST", key=customer.key, body=f"{{{rest}".encode())
    assert quoted.status == called.status == 400
    assert "stands twice" in quoted.error["message"]
    assert quoted.error["message"] == called.error["message"]


async def test_a_quote_for_embeddings_has_no_output(node: Node, townsfolk: Customers) -> None:
    customer = await townsfolk.a_customer()
    model = await townsfolk.a_model(kind=Kind.EMBEDDING, price=DEAR_OUTPUT)
    wait_until(lambda: model in ask(node, "/v1/models", key=customer.key).text.decode(), within_seconds=20)
    body = {"endpoint": "/v1/embeddings", "model": model, "input": [[1, 2, 3]]}
    told = ask(node, QUOTE, method="POST", key=customer.key, body=body).json
    assert (told["unit"], told["input"], told["output"]) == ("input token", 3, {"likely": 0, "most": 0})
    assert told["least_usd"] == told["likely_usd"] == told["most_usd"] == told["held_usd"]


async def test_a_receipt_is_shown_to_the_key_that_made_the_call_and_to_no_other(
    node: Node, townsfolk: Customers, receipts: SqlReceipts
) -> None:
    customer, model = await a_caller(townsfolk, node)
    answer = chat(node, customer.key, model, "a canary [[tokens=6 cached=2]]")
    receipt = await receipt_of(receipts, answer)
    shown = call_of(node, customer, answer.headers["x-request-id"])
    told = shown.json
    assert (shown.status, told["state"], told["ending"], told["model"]) == (200, "settled", "completed", model)
    assert [(line["name"], line["units"]) for line in told["lines"]] == [
        ("input", receipt.usage.input_units - 2),
        ("cached", 2),
        ("output", 6),
    ]
    assert sum(Decimal(line["usd"]) for line in told["lines"]) == Decimal(told["charged_usd"])
    assert (told["charged_usd"], told["written_off_usd"]) == (usd_exact(receipt.charged), "0.000")
    assert b"simulator" not in shown.text
    assert b"canary" not in shown.text
    sibling, stranger = await townsfolk.a_key(customer.account_id), await townsfolk.a_customer()
    hidden = [call_of(node, caller, answer.headers["x-request-id"]) for caller in (sibling, stranger)]
    hidden += [call_of(node, customer, str(uuid4())), call_of(node, customer, "x")]
    assert [(told.status, told.error["code"]) for told in hidden] == [(404, "call_not_found")] * 4
    assert len({json.dumps(told.error) for told in hidden}) == 1
    assert ask(node, f"/v2/calls/{answer.headers['x-request-id']}").status == 401


async def test_a_call_under_way_is_shown_as_running(node: Node, townsfolk: Customers) -> None:
    customer, model = await a_caller(townsfolk, node)
    body = order(model, "[[tokens=5000 chunk_ms=20]]", stream=True)
    with listening(node, customer.key, body) as stream:
        request_id = request_id_in(read_until(stream, b"\r\n\r\n"))
        told = call_of(node, customer, request_id).json
    assert (told["state"], told["charged_usd"], told["id"]) == ("running", None, request_id)
    assert Decimal(told["held_usd"]) > 0
    sibling = await townsfolk.a_key(customer.account_id)
    assert call_of(node, sibling, request_id).status == 404


def test_browsers_may_send_and_read_the_new_headers(node: Node) -> None:
    told = ask(node, PATH, method="OPTIONS").headers
    allowed = told["access-control-allow-headers"].split(", ")
    assert {"authorization", "idempotency-key", "x-max-charge-usd"} <= set(allowed)
    exposed = ask(node, "/v1/models").headers["access-control-expose-headers"].split(", ")
    assert {"x-request-id", "x-charged-usd", "x-original-request-id"} <= set(exposed)
