"""How calls end: complete, broken, left, cut, out of time, stopped. Each closes its hold once, rightly charged."""

import signal
import socket
import time
from uuid import UUID

import pytest

from tests.chat import chat, chunks, error_in, events, listening, order, read_until, receipt_of, words
from tests.client import ask
from tests.conftest import ADDRESSES, HASTE
from tests.customers import Customer, Customers
from tollkeeper.core.money.charge import Ending, UsageSource
from tollkeeper.core.money.quote import TokenCaps
from tollkeeper.core.usage.receipt import Receipt
from tollkeeper.storage.usage.receipts import SqlReceipts
from tollkeeper_simulator.speech import text_of
from tools.node import Node
from tools.services.process import wait_until
from tools.simulator import Simulator

MAIN = {"Host": "main.test"}
BACKUP = {"Host": "backup.test"}
UNITS = 1_000_000

pytestmark = pytest.mark.usefixtures("simulator")


async def a_caller(townsfolk: Customers, node: Node, limits: TokenCaps | None = None) -> tuple[Customer, str]:
    customer = await townsfolk.a_customer()
    model = await townsfolk.a_model(limits=limits or TokenCaps())
    known = {"key": customer.key, "headers": MAIN}
    wait_until(lambda: model in ask(node, "/v1/models", **known).text.decode(), within_seconds=20)  # type: ignore[arg-type]
    return customer, model


@pytest.mark.rule("X3.1", "L3.1")
async def test_on_main_a_long_call_is_cut_goes_on_and_is_charged(
    hasty_node: Node, townsfolk: Customers, receipts: SqlReceipts, simulator: Simulator
) -> None:
    customer, model = await a_caller(townsfolk, hasty_node)
    begun = time.monotonic()
    answer = chat(hasty_node, customer.key, model, "[[tokens=9 delay_ms=2500]]", headers=MAIN)
    assert time.monotonic() - begun < 2.5, "the caller waited for the provider"
    assert (answer.status, answer.error["code"]) == (524, "edge_timeout")
    assert answer.error["message"].startswith("524: A timeout occurred")
    assert (answer.headers["cf-error"], answer.headers["x-should-retry"]) == ("524", "false")
    receipt = await receipt_of(receipts, answer)
    assert (receipt.ending, receipt.usage_source) == (Ending.CUT, UsageSource.PROVIDER)
    assert receipt.charged == (receipt.usage.input_units + 9) * UNITS
    assert simulator.wait_for(answer.headers["x-request-id"])["ending"] == "finished"
    [line] = [line for line in hasty_node.call_lines() if line["request_id"] == answer.headers["x-request-id"]]
    assert (line["status"], line["key_id"]) == (524, customer.key_id)


async def test_a_cut_call_that_is_refused_later_costs_nothing(
    hasty_node: Node, townsfolk: Customers, receipts: SqlReceipts
) -> None:
    customer, model = await a_caller(townsfolk, hasty_node)
    answer = chat(hasty_node, customer.key, model, "[[status=500 delay_ms=1500]]", headers=MAIN)
    assert answer.status == 524
    receipt = await receipt_of(receipts, answer)
    assert (receipt.ending, receipt.charged) == (Ending.REFUSED, 0)


async def test_a_cut_call_that_is_never_answered_is_charged_its_input(
    hasty_node: Node, townsfolk: Customers, receipts: SqlReceipts
) -> None:
    customer, model = await a_caller(townsfolk, hasty_node)
    answer = chat(hasty_node, customer.key, model, "[[delay_ms=60000]]", headers=MAIN)
    assert answer.status == 524
    receipt = await receipt_of(receipts, answer)
    assert (receipt.ending, receipt.usage_source) == (Ending.CUT, UsageSource.COUNTED_INPUT)
    assert receipt.charged == receipt.usage.input_units * UNITS > 0


@pytest.mark.rule("L3.1")
async def test_on_main_streams_are_not_cut(hasty_node: Node, townsfolk: Customers) -> None:
    customer, model = await a_caller(townsfolk, hasty_node)
    begun = time.monotonic()
    answer = chat(hasty_node, customer.key, model, "[[tokens=50 chunk_ms=100]]", stream=True, headers=MAIN)
    assert words(answer.text) == text_of(50)
    assert time.monotonic() - begun > 4, "this was to last longer than any other call may"


async def test_on_backup_a_long_call_is_not_cut(hasty_node: Node, townsfolk: Customers) -> None:
    customer, model = await a_caller(townsfolk, hasty_node)
    answer = chat(hasty_node, customer.key, model, "[[tokens=9 delay_ms=1500]]", headers=BACKUP)
    assert answer.status == 200


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_on_backup_no_call_lasts_longer_than_the_longest(
    hasty_node: Node, townsfolk: Customers, receipts: SqlReceipts, stream: bool
) -> None:
    customer, model = await a_caller(townsfolk, hasty_node)
    direction = "[[tokens=100 chunk_ms=100]]" if stream else "[[delay_ms=60000]]"
    answer = chat(hasty_node, customer.key, model, direction, stream=stream, headers=BACKUP)
    error = error_in(answer.text) if stream else answer.error
    assert error["code"] == "time_limit_reached"
    assert stream or (answer.status, answer.headers["x-should-retry"]) == (503, "false")
    receipt = await receipt_of(receipts, answer)
    assert receipt.ending is Ending.TIME_LIMIT
    assert receipt.usage_source is (UsageSource.COUNTED if stream else UsageSource.COUNTED_INPUT)


@pytest.mark.parametrize(
    ("direction", "ending", "whole"),
    [
        ("[[tokens=20 cut_at=5]]", Ending.UPSTREAM_BROKE, False),
        ("[[tokens=20 half_close_at=5]]", Ending.UPSTREAM_BROKE, False),
        ("[[tokens=20 malformed_at=5]]", Ending.UPSTREAM_BROKE, False),
        ("[[tokens=20 error_at=5]]", Ending.UPSTREAM_BROKE, False),
        ("[[tokens=20 stall_at=5]]", Ending.UPSTREAM_BROKE, False),
        ("[[tokens=20 no_finish=1]]", Ending.UPSTREAM_BROKE, False),
        ("[[tokens=20 no_done=1]]", Ending.COMPLETED, True),
        ("[[tokens=20 drip=1]]", Ending.COMPLETED, True),
        ("[[tokens=20 crlf=1]]", Ending.COMPLETED, True),
        ("[[tokens=20 comment=1]]", Ending.COMPLETED, True),
        ("[[tokens=20 usage=no]]", Ending.COMPLETED, True),
        ("[[tokens=20 usage=absurd]]", Ending.COMPLETED, True),
        ("[[tokens=20 usage=negative]]", Ending.COMPLETED, True),
        ("[[tokens=20 usage=string]]", Ending.COMPLETED, True),
    ],
)
async def test_a_stream_ends_by_its_rule(
    hasty_node: Node, townsfolk: Customers, receipts: SqlReceipts, direction: str, ending: Ending, whole: bool
) -> None:
    customer, model = await a_caller(townsfolk, hasty_node)
    answer = chat(hasty_node, customer.key, model, direction, stream=True, headers=MAIN)
    assert answer.status == 200
    receipt = await receipt_of(receipts, answer)
    assert receipt.ending is ending
    assert receipt.charged == (receipt.usage.input_units + receipt.usage.output_units) * UNITS
    if whole:
        assert words(answer.text) == text_of(20)
        assert receipt.usage.output_units == 20
    else:
        assert error_in(answer.text)["code"] == "stream_broken"
        delivered = "".join(
            chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks(answer.text) if "choices" in chunk
        )
        assert text_of(20).startswith(delivered)
        assert receipt.usage.output_units == len(delivered.split()) > 0
        assert receipt.usage_source is UsageSource.COUNTED


@pytest.mark.parametrize(
    "direction",
    [
        "[[tokens=20 cut_at=0]]",
        "[[tokens=20 error_at=0]]",
        "[[tokens=20 malformed_at=0]]",
        "[[tokens=20 half_close_at=0]]",
        "[[tokens=20 delay_ms=60000]]",
    ],
)
async def test_a_stream_that_fails_before_its_first_word_is_refused_and_free(
    hasty_node: Node, townsfolk: Customers, receipts: SqlReceipts, direction: str
) -> None:
    customer, model = await a_caller(townsfolk, hasty_node)
    answer = chat(hasty_node, customer.key, model, direction, stream=True, headers=BACKUP)
    # After a keep-alive comment the status line is gone, and the refusal is told in the stream.
    code = answer.error["code"] if answer.status == 503 else error_in(answer.text)["code"]
    assert code in {"provider_unavailable", "stream_broken"}
    receipt = await receipt_of(receipts, answer)
    assert (receipt.ending, receipt.charged) == (Ending.REFUSED, 0)


@pytest.mark.parametrize(
    "direction", ["[[cut_at=2]]", "[[wrong_length=1]]", "[[json_garbage=1]]", "[[gzip_bomb=1000000]]"]
)
async def test_a_whole_answer_that_cannot_be_delivered_is_free(
    hasty_node: Node, townsfolk: Customers, receipts: SqlReceipts, direction: str
) -> None:
    customer, model = await a_caller(townsfolk, hasty_node)
    answer = chat(hasty_node, customer.key, model, direction, headers=MAIN)
    assert (answer.status, answer.error["code"]) == (503, "provider_unavailable")
    receipt = await receipt_of(receipts, answer)
    assert (receipt.ending, receipt.charged) == (Ending.REFUSED, 0)


@pytest.mark.parametrize("usage", ["no", "absurd", "negative", "huge", "string"])
async def test_a_whole_answer_without_a_credible_report_is_counted(
    hasty_node: Node, townsfolk: Customers, receipts: SqlReceipts, usage: str
) -> None:
    customer, model = await a_caller(townsfolk, hasty_node)
    answer = chat(hasty_node, customer.key, model, f"[[tokens=20 usage={usage}]]", headers=MAIN)
    receipt = await receipt_of(receipts, answer)
    assert (receipt.ending, receipt.usage_source) == (Ending.COMPLETED, UsageSource.COUNTED)
    assert receipt.usage.output_units == 20


async def test_silence_is_kept_alive_by_comments(hasty_node: Node, townsfolk: Customers) -> None:
    customer, model = await a_caller(townsfolk, hasty_node)
    answer = chat(hasty_node, customer.key, model, "[[tokens=2 first_chunk_ms=900]]", stream=True, headers=MAIN)
    assert answer.text.count(b": keep-alive\n\n") >= 2
    assert answer.text.startswith(b": keep-alive\n\n")
    assert events(answer.text)[-1] == "[DONE]"
    assert words(answer.text) == text_of(2)


async def test_who_leaves_a_stream_pays_for_what_came_and_the_provider_is_stopped(
    hasty_node: Node, townsfolk: Customers, receipts: SqlReceipts, simulator: Simulator
) -> None:
    customer, model = await a_caller(townsfolk, hasty_node)
    body = order(model, "[[tokens=2000 chunk_ms=20]]", stream=True)
    with listening(hasty_node, customer.key, body, "main.test") as connection:
        received = read_until(connection, b"silver")
    left_at = time.time()
    request_id = header_in(received, b"x-request-id")
    truth = simulator.wait_for(request_id)
    assert truth["ending"] == "client_closed"
    assert truth["closed_at"] - left_at < 1
    receipt = await receipt_of(receipts, request_id)
    assert (receipt.ending, receipt.usage_source) == (Ending.CLIENT_LEFT, UsageSource.COUNTED)
    assert receipt.usage.input_units == truth["input_tokens"]
    assert 7 <= receipt.usage.output_units <= truth["output_tokens"]


async def test_a_model_with_hidden_thoughts_is_heard_to_the_end_when_its_caller_leaves(
    hasty_node: Node, townsfolk: Customers, receipts: SqlReceipts, simulator: Simulator
) -> None:
    customer, model = await a_caller(townsfolk, hasty_node, TokenCaps(hidden_reasoning=True))
    body = order(model, "[[tokens=50 chunk_ms=20]]", stream=True)
    with listening(hasty_node, customer.key, body, "main.test") as connection:
        received = read_until(connection, b"silver")
    request_id = header_in(received, b"x-request-id")
    assert simulator.wait_for(request_id)["ending"] == "finished"
    receipt = await receipt_of(receipts, request_id)
    assert (receipt.ending, receipt.usage_source) == (Ending.CLIENT_LEFT, UsageSource.PROVIDER)
    assert receipt.usage.output_units == 50


async def test_who_leaves_a_whole_call_pays_for_all_of_it(
    hasty_node: Node, townsfolk: Customers, receipts: SqlReceipts, simulator: Simulator
) -> None:
    customer, model = await a_caller(townsfolk, hasty_node)
    before = len(simulator.truth())
    with listening(hasty_node, customer.key, order(model, "[[tokens=30 delay_ms=500]]"), "main.test"):
        wait_until(lambda: simulator_is_asked(hasty_node, customer.key))
    [truth] = [row for row in simulator.wait_for_lines(before + 1)[before:] if row["model"] == model]
    receipt = await receipt_of(receipts, truth["request_id"])
    assert (receipt.ending, receipt.usage_source) == (Ending.CLIENT_LEFT, UsageSource.PROVIDER)
    assert receipt.usage.output_units == 30


def simulator_is_asked(node: Node, key: str) -> bool:
    """A call under way holds quota, which is missing from the balance."""
    balance = ask(node, "/v2/account/balance", key=key, headers=MAIN).json["balance"]
    return bool(balance["remained_cash"] < 10)


def header_in(received: bytes, name: bytes) -> str:
    [value] = [line for line in received.split(b"\r\n") if line.lower().startswith(name + b":")]
    return value.partition(b":")[2].strip().decode()


async def test_a_stopping_node_lets_its_calls_finish(
    town: tuple[dict[str, str], Customers], townsfolk: Customers, receipts: SqlReceipts
) -> None:
    with Node(town[0] | ADDRESSES | HASTE) as node:
        customer, model = await a_caller(townsfolk, node)
        body = order(model, "[[tokens=30 chunk_ms=50]]", stream=True)
        with listening(node, customer.key, body, "main.test") as stream:
            cut = chat(node, customer.key, model, "[[tokens=5 delay_ms=2500]]", headers=MAIN)
            received = read_until(stream, b"river")
            assert node.process is not None
            node.process.send_signal(signal.SIGTERM)
            wait_until(lambda: not accepts(node.port))
            received += read_until(stream, b"[DONE]")
        assert node.process.wait(20) == 0
    assert b"error" not in received
    for request_id in (header_in(received, b"x-request-id"), cut.headers["x-request-id"]):
        receipt = await receipts.find(UUID(request_id), account_id=None)
        assert isinstance(receipt, Receipt), "a node ended before its calls did"
        assert receipt.usage_source is UsageSource.PROVIDER


async def test_a_node_that_cannot_wait_ends_its_calls_with_what_was_delivered(
    town: tuple[dict[str, str], Customers], townsfolk: Customers, receipts: SqlReceipts
) -> None:
    with Node(town[0] | ADDRESSES | HASTE | {"TOLLKEEPER_DRAIN_SECONDS": "0.5"}) as node:
        customer, model = await a_caller(townsfolk, node)
        cut = chat(node, customer.key, model, "[[tokens=5 delay_ms=60000]]", headers=MAIN)
        body = order(model, "[[tokens=3000 chunk_ms=20]]", stream=True)
        with listening(node, customer.key, body, "main.test") as stream:
            received = read_until(stream, b"river")
            assert node.process is not None
            node.process.send_signal(signal.SIGTERM)
            received += read_until(stream, b"[DONE]")
        assert node.process.wait(20) == 0
    assert b'"code":"node_stopping"' in received
    streamed = await receipt_of(receipts, header_in(received, b"x-request-id"))
    assert (streamed.ending, streamed.usage_source) == (Ending.NODE_STOPPED, UsageSource.COUNTED)
    detached = await receipt_of(receipts, cut)
    assert (detached.ending, detached.usage_source) == (Ending.CUT, UsageSource.COUNTED_INPUT)


async def test_a_client_who_does_not_read_does_not_keep_a_node_from_stopping(
    town: tuple[dict[str, str], Customers], townsfolk: Customers, receipts: SqlReceipts
) -> None:
    with Node(town[0] | ADDRESSES | HASTE | {"TOLLKEEPER_DRAIN_SECONDS": "0.5"}) as node:
        customer, model = await a_caller(townsfolk, node)
        body = order(model, "[[tokens=400000]]", stream=True, max_tokens=400_000)
        with listening(node, customer.key, body, "main.test") as stream:
            head = read_until(stream, b"river")
            assert node.process is not None
            node.process.send_signal(signal.SIGTERM)
            assert node.process.wait(25) == 0
    receipt = await receipt_of(receipts, header_in(head, b"x-request-id"))
    assert receipt.ending is Ending.NODE_STOPPED


def accepts(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False
