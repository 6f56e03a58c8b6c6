"""POST /v1/chat/completions, as customers call it."""

import pytest
from openai import OpenAI

from tests.chat import PATH, chat, chunks, error_in, events, order, receipt_of, words
from tests.client import ask
from tests.conftest import PROVIDER_KEY
from tests.customers import DEAR_OUTPUT, Customers
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.money.charge import Ending, UsageSource
from tollkeeper.core.money.quote import TokenCaps
from tollkeeper.storage.usage.receipts import SqlReceipts
from tollkeeper_simulator.speech import text_of
from tools.node import Node
from tools.services.process import wait_until
from tools.simulator import Simulator

pytestmark = pytest.mark.usefixtures("simulator")

UNITS = 1_000_000


async def a_customer_of(
    townsfolk: Customers, node: Node, *, usd: str | None = "10", quota_usd: str | None = None
) -> tuple[str, str]:
    """A key with quota, and a model that the node has heard of."""
    customer = await townsfolk.a_customer(usd=usd, quota_usd=quota_usd)
    model = await townsfolk.a_model(price=DEAR_OUTPUT)
    wait_until(lambda: model in ask(node, "/v1/models", key=customer.key).text.decode(), within_seconds=20)
    return customer.key, model


@pytest.mark.rule("E3.1", "E3.4", "R1.2")
async def test_an_answer_comes_back_as_the_provider_gave_it_and_is_charged(
    node: Node, townsfolk: Customers, simulator: Simulator, receipts: SqlReceipts
) -> None:
    key, model = await a_customer_of(townsfolk, node)
    answer = chat(node, key, model, "Good morning [[tokens=20 cached=3]]")
    assert answer.status == 200
    assert answer.json["choices"][0]["message"]["content"] == text_of(20)
    truth = simulator.wait_for(answer.headers["x-request-id"])
    receipt = await receipt_of(receipts, answer)
    assert (receipt.usage.input_units, receipt.usage.output_units) == (truth["input_tokens"], 20)
    assert receipt.charged == (truth["input_tokens"] + 20 * 4) * UNITS
    assert (receipt.ending, receipt.usage_source) == (Ending.COMPLETED, UsageSource.PROVIDER)
    assert answer.headers["x-charged-usd"] == receipt.charged_usd
    assert receipt.formula == (
        f"1 group × 1 model × ({truth['input_tokens'] - 3} input + 3 cached × 1 + 20 output × 4) "
        f"= {truth['input_tokens'] + 80} quota tokens = {receipt.charged_usd} USD"
    )
    [attempt] = receipt.attempts
    assert (attempt["outcome"], attempt["status"], attempt["cost"]) == ("completed", 200, receipt.charged)
    assert str(attempt["account"]).startswith("simulator-")


@pytest.mark.rule("E3.3")
async def test_a_stream_delivers_its_pieces_and_is_charged_what_the_provider_reports(
    node: Node, townsfolk: Customers, receipts: SqlReceipts
) -> None:
    key, model = await a_customer_of(townsfolk, node)
    answer = chat(node, key, model, "[[tokens=30]]", stream=True)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert words(answer.text) == text_of(30)
    assert all(chunk["choices"] for chunk in chunks(answer.text)), "a usage chunk came that nobody asked for"
    receipt = await receipt_of(receipts, answer)
    assert receipt.charged == (receipt.usage.input_units + 30 * 4) * UNITS
    assert (receipt.ending, receipt.usage_source) == (Ending.COMPLETED, UsageSource.PROVIDER)


async def test_usage_is_streamed_to_those_who_ask_for_it(node: Node, townsfolk: Customers) -> None:
    key, model = await a_customer_of(townsfolk, node)
    answer = chat(node, key, model, "[[tokens=7]]", stream=True, stream_options={"include_usage": True})
    last = chunks(answer.text)[-1]
    assert last["choices"] == []
    assert last["usage"]["completion_tokens"] == 7


async def test_other_stream_options_of_the_caller_survive(node: Node, townsfolk: Customers) -> None:
    key, model = await a_customer_of(townsfolk, node)
    options = {"include_usage": False, "include_obfuscation": False}
    answer = chat(node, key, model, "[[tokens=2]]", stream=True, stream_options=options)
    assert words(answer.text) == text_of(2)


@pytest.mark.rule("S3.1")
@pytest.mark.parametrize("ending", ["/v1", "/v1/"], ids=["no trailing slash", "trailing slash"])
async def test_the_official_sdk_works_with_two_settings(node: Node, townsfolk: Customers, ending: str) -> None:
    key, model = await a_customer_of(townsfolk, node)
    with OpenAI(base_url=node.base + ending, api_key=key) as client:
        plain = client.chat.completions.create(model=model, messages=[{"role": "user", "content": "[[tokens=5]]"}])
        assert plain.choices[0].message.content == text_of(5)
        stream = client.chat.completions.create(
            model=model, messages=[{"role": "user", "content": "[[tokens=5]]"}], stream=True
        )
        assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == text_of(5)


@pytest.mark.rule("E3.2")
async def test_every_role_and_field_of_the_protocol_passes(node: Node, townsfolk: Customers) -> None:
    key, model = await a_customer_of(townsfolk, node)
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 50_000}}
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": "Be kind."},
        {"role": "user", "name": "ada", "content": [{"type": "text", "text": "What is this?"}, picture]},
        {"role": "assistant", "content": None, "tool_calls": [a_tool_call()]},
        {"role": "tool", "tool_call_id": "1", "content": "sunny"},
        {"role": "user", "content": "[[tokens=3]]"},
    ]
    body = {"model": model, "messages": messages, "temperature": 0.5, "logit_bias": {"50256": -100}}
    answer = ask(node, PATH, method="POST", key=key, body=body)
    assert answer.status == 200, answer.text


def a_tool_call() -> dict[str, object]:
    return {"id": "1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Paris"}'}}


async def test_tool_calls_stream_through(node: Node, townsfolk: Customers) -> None:
    key, model = await a_customer_of(townsfolk, node)
    tool = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}
    answer = chat(node, key, model, "call the tool", stream=True, tools=[tool])
    assert chunks(answer.text)[-1]["choices"][0]["finish_reason"] == "tool_calls"


@pytest.mark.rule("E3.1")
@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"messages": [{"role": "user", "content": "hi"}]}, "model"),
        ({"model": "m"}, "messages"),
        ({"model": "m", "messages": []}, "messages"),
        ({"model": "m", "messages": [{"role": "user", "content": "hi"}], "n": 0}, "n"),
    ],
    ids=["no model", "no messages", "empty messages", "no answers wanted"],
)
async def test_what_is_missing_or_wrong_is_named(
    node: Node, townsfolk: Customers, body: dict[str, object], param: str
) -> None:
    customer = await townsfolk.a_customer()
    answer = ask(node, PATH, method="POST", key=customer.key, body=body)
    assert (answer.status, answer.error["param"]) == (400, param)


async def test_a_body_that_is_no_json_is_refused(node: Node, townsfolk: Customers) -> None:
    customer = await townsfolk.a_customer()
    answer = ask(node, PATH, method="POST", key=customer.key, body=b"{'model'")
    assert (answer.status, answer.error["code"]) == (400, "malformed_body")


@pytest.mark.rule("R1.2")
async def test_a_model_that_is_not_listed_cannot_be_called(node: Node, townsfolk: Customers) -> None:
    customer = await townsfolk.a_customer()
    elsewhere = await townsfolk.a_model(only_groups=["restricted"])
    picture = await townsfolk.a_model(kind=Kind.IMAGE)
    wait_until(lambda: picture in ask(node, "/v1/models", key=customer.key).text.decode(), within_seconds=20)
    for model in ("unheard-of", elsewhere, picture):
        answer = chat(node, customer.key, model, "hi")
        assert (answer.status, answer.error["code"], answer.error["param"]) == (404, "model_not_found", "model")


@pytest.mark.rule("X2.1", "S11.4")
async def test_an_account_without_enough_quota_is_told_what_would_fit(node: Node, townsfolk: Customers) -> None:
    key, model = await a_customer_of(townsfolk, node, usd="0.001")
    refused = chat(node, key, model, "hi", max_tokens=1_000)
    assert refused.status == 403
    assert (refused.error["type"], refused.error["code"]) == ("insufficient_quota", "insufficient_account_quota")
    assert refused.headers["x-should-retry"] == "false"
    assert "The account has 0.001 USD" in refused.error["message"]
    assert "will not help" in refused.error["message"]
    fits = int(refused.error["message"].partition("max_tokens of ")[2].split()[0])
    assert chat(node, key, model, "hi [[tokens=1]]", max_tokens=fits + 1).status == 403
    assert chat(node, key, model, "hi", max_tokens=fits).status == 200


@pytest.mark.rule("X2.1", "S11.4")
async def test_a_key_without_enough_quota_is_told_that_it_is_the_key(node: Node, townsfolk: Customers) -> None:
    key, model = await a_customer_of(townsfolk, node, quota_usd="0.0001")
    refused = chat(node, key, model, "hi", stream=True)
    assert (refused.status, refused.error["code"]) == (403, "insufficient_key_quota")
    assert "This key has 0.0001 USD left of its own quota" in refused.error["message"]


async def test_nothing_is_sent_upstream_without_a_hold(node: Node, townsfolk: Customers, simulator: Simulator) -> None:
    key, model = await a_customer_of(townsfolk, node, usd=None)
    refused = chat(node, key, model, "hi")
    assert refused.status == 403
    paid, _ = await a_customer_of(townsfolk, node)
    answered = chat(node, paid, model, "hi")
    simulator.wait_for(answered.headers["x-request-id"])
    assert refused.headers["x-request-id"] not in {row["request_id"] for row in simulator.truth()}


async def test_a_stream_that_outgrows_its_hold_extends_it(
    node: Node, townsfolk: Customers, receipts: SqlReceipts
) -> None:
    customer = await townsfolk.a_customer()
    model = await townsfolk.a_model(limits=TokenCaps(hold_output_tokens=50))
    wait_until(lambda: model in ask(node, "/v1/models", key=customer.key).text.decode(), within_seconds=20)
    # Slowly enough that each extension is booked before the next one is due, on a slow machine too.
    answer = chat(node, customer.key, model, "[[tokens=400 per_chunk=10 chunk_ms=50]]", stream=True)
    assert words(answer.text) == text_of(400)
    receipt = await receipt_of(receipts, answer)
    assert receipt.held >= receipt.charged == (receipt.usage.input_units + 400) * UNITS


async def test_a_stream_ends_when_the_quota_for_more_of_it_is_not_there(
    node: Node, townsfolk: Customers, receipts: SqlReceipts
) -> None:
    customer = await townsfolk.a_customer(usd="0.001")  # 500 quota
    model = await townsfolk.a_model(limits=TokenCaps(hold_output_tokens=150))
    wait_until(lambda: model in ask(node, "/v1/models", key=customer.key).text.decode(), within_seconds=20)
    answer = chat(node, customer.key, model, "[[tokens=5000 chunk_ms=1]]", stream=True)
    assert error_in(answer.text)["code"] == "insufficient_account_quota"
    assert events(answer.text)[-1] == "[DONE]"
    receipt = await receipt_of(receipts, answer)
    assert (receipt.ending, receipt.usage_source) == (Ending.QUOTA_RAN_OUT, UsageSource.COUNTED)
    assert receipt.charged <= 500 * UNITS
    assert ask(node, "/v2/account/balance", key=customer.key).json["balance"]["remained_cash"] >= 0


async def test_a_providers_rejection_comes_back_cleaned_and_free(
    node: Node, townsfolk: Customers, receipts: SqlReceipts
) -> None:
    key, model = await a_customer_of(townsfolk, node)
    said = f"maximum context length is 8 tokens; key {PROVIDER_KEY} of org-abcdef123 at https://api.example/v1"
    direction = f'[[status=400 error_code=context_length_exceeded status_text="{said}"]]'
    answer = chat(node, key, model, direction)
    assert (answer.status, answer.error["code"]) == (400, "context_length_exceeded")
    assert answer.error["message"].startswith("maximum context length is 8 tokens; key …")
    assert not any(secret in answer.text.decode() for secret in (PROVIDER_KEY, "org-abcdef123", "api.example"))
    receipt = await receipt_of(receipts, answer)
    assert (receipt.charged, receipt.ending) == (0, Ending.REFUSED)


@pytest.mark.parametrize("status", [404, 429, 500, 503, 302])
async def test_a_providers_own_troubles_are_told_as_503(
    node: Node, townsfolk: Customers, receipts: SqlReceipts, status: int
) -> None:
    key, model = await a_customer_of(townsfolk, node)
    direction = "[[redirect=http://127.0.0.1:9/]]" if status == 302 else f"[[status={status}]]"
    for stream in (False, True):
        answer = chat(node, key, model, direction, stream=stream)
        assert (answer.status, answer.error["code"]) == (503, "provider_unavailable")
        assert "retry-after" in answer.headers
        assert PROVIDER_KEY[:10] not in answer.text.decode()
        assert (await receipt_of(receipts, answer)).charged == 0


async def test_a_parameter_that_is_not_listed_is_refused_and_costs_nothing(
    node: Node, townsfolk: Customers, receipts: SqlReceipts
) -> None:
    key, model = await a_customer_of(townsfolk, node)
    answer = ask(node, PATH, method="POST", key=key, body=order(model, "hi") | {"unheard_of": {"deep": [1, 2]}})
    assert (answer.status, answer.error["code"], answer.error["param"]) == (400, "unsupported_parameter", "unheard_of")
    assert "leave it out. Nothing was charged." in answer.error["message"]
    assert (await receipt_of(receipts, answer)).charged == 0


async def test_the_call_log_knows_the_call_and_nothing_of_what_was_said(node: Node, townsfolk: Customers) -> None:
    key, model = await a_customer_of(townsfolk, node)
    answer = chat(node, key, model, "a canary in the mine [[tokens=3]]", stream=True)

    def logged() -> bool:
        return any(line["request_id"] == answer.headers["x-request-id"] for line in node.call_lines())

    wait_until(logged)
    [line] = [line for line in node.call_lines() if line["request_id"] == answer.headers["x-request-id"]]
    assert (line["status"], line["sent_bytes"]) == (200, len(answer.text))
    assert {"key_id", "account_id"} <= line.keys()
    assert "canary" not in node.log.read_text()
    assert text_of(3) not in node.log.read_text()
