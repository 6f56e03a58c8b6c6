"""Four vendors behind one protocol: callers notice nothing, and pay what the vendor counted."""

import json
from typing import Any

import pytest

from tests.chat import chunks, error_in, listening, order, read_until, words
from tests.client import Answer, ask
from tests.command_line import tollkeeper
from tests.market import KEY, THEIRS, UNITS, Market, price_of
from tollkeeper.app.providers import VENDORS
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.money.charge import Ending, UsageSource
from tollkeeper.core.pool.choice import PoolPlace
from tollkeeper_simulator.speech import text_of
from tools.services.process import wait_until

TRANSLATED = ("anthropic", "gemini")
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def said_in(answer: Answer, *, streamed: bool) -> str:
    return words(answer.text) if streamed else answer.json["choices"][0]["message"]["content"]


def usage_in(answer: Answer, *, streamed: bool) -> dict[str, Any]:
    usage: dict[str, Any] = chunks(answer.text)[-1]["usage"] if streamed else answer.json["usage"]
    return usage


STREAMED = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
WITH_USAGE = {"stream": True, "stream_options": {"include_usage": True}}


@pytest.mark.rule("E3.5")
@STREAMED
@pytest.mark.parametrize(
    "directions",
    ["tokens=20", "tokens=20 cached=5", "tokens=7 thinking=30", "tokens=3 thinking=9 cached=2 cache_write=2"],
)
@pytest.mark.parametrize("vendor", VENDORS)
async def test_any_vendors_model_answers_in_one_protocol_at_the_vendors_own_count(
    market: Market, vendor: str, directions: str, streamed: bool
) -> None:
    line = await market.a_line(vendor)
    answer = market.chat(line, f"A good morning to you all [[{directions}]]", **(WITH_USAGE if streamed else {}))
    assert answer.status == 200, answer.text
    truth = market.truth(answer)
    assert (truth["vendor"], truth["model"]) == (vendor, THEIRS[vendor])
    assert said_in(answer, streamed=streamed).endswith(text_of(truth["output_tokens"] - truth["thinking_tokens"]))
    usage = usage_in(answer, streamed=streamed)
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (truth["input_tokens"], truth["output_tokens"])
    assert usage["prompt_tokens_details"]["cached_tokens"] == truth["cached_tokens"]
    assert usage["completion_tokens_details"]["reasoning_tokens"] == truth["thinking_tokens"]
    receipt = await market.receipt(answer)
    assert receipt.charged == price_of(truth)
    assert (receipt.ending, receipt.usage_source) == (Ending.COMPLETED, UsageSource.PROVIDER)


@pytest.mark.rule("E3.5")
@STREAMED
@pytest.mark.parametrize("vendor", VENDORS)
async def test_a_tool_is_called_and_its_result_goes_back(market: Market, vendor: str, streamed: bool) -> None:
    line = await market.a_line(vendor)
    asked = {"role": "user", "content": "Please call the tool. [[tokens=9 thinking=5]]"}
    first = market.chat(line, asked["content"], tools=[TOOL], reasoning_effort="low", stream=streamed)
    assert first.status == 200, first.text
    message = whole_message(first) if streamed else first.json["choices"][0]["message"]
    [call] = message["tool_calls"]
    assert call["function"]["name"] == "get_weather"
    assert json.loads(call["function"]["arguments"]) == {"city": "river stone"}
    result = {"role": "tool", "tool_call_id": call["id"], "content": "It rains."}
    body = order(line.model, "", tools=[TOOL], reasoning_effort="low") | {"messages": [asked, message, result]}
    second = ask(market.node, "/v1/chat/completions", method="POST", key=line.customer.key, body=body)
    assert second.status == 200, second.text
    assert second.json["choices"][0]["message"]["content"].endswith(text_of(9))
    for answer in (first, second):
        assert (await market.receipt(answer)).charged == price_of(market.truth(answer))


@pytest.mark.parametrize("vendor", VENDORS)
async def test_a_call_whose_sdk_has_lost_the_thoughts_goes_on_without_them(market: Market, vendor: str) -> None:
    line = await market.a_line(vendor)
    asked = {"role": "user", "content": "Please call the tool. [[tokens=9 thinking=5]]"}
    first = market.chat(line, asked["content"], tools=[TOOL], reasoning_effort="low")
    [call] = first.json["choices"][0]["message"]["tool_calls"]
    plain = {name: call[name] for name in ("id", "type", "function")}
    messages = [
        asked,
        {"role": "assistant", "content": None, "tool_calls": [plain]},
        {"role": "tool", "tool_call_id": call["id"], "content": "It rains."},
    ]
    body = {"model": line.model, "messages": messages, "tools": [TOOL], "reasoning_effort": "low"}
    second = ask(market.node, "/v1/chat/completions", method="POST", key=line.customer.key, body=body)
    assert second.status == 200, second.text


def whole_message(answer: Answer) -> dict[str, Any]:
    """What an SDK puts together of the pieces of a streamed message with one tool call."""
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks(answer.text)]
    calls = [call for delta in deltas for call in delta.get("tool_calls") or ()]
    arguments = "".join(call["function"].get("arguments") or "" for call in calls)
    call = calls[0] | {"function": {"name": calls[0]["function"]["name"], "arguments": arguments}}
    blocks = [block for delta in deltas for block in delta.get("thinking_blocks") or ()]
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [call],
        **({"thinking_blocks": blocks} if blocks else {}),
    }


@STREAMED
@pytest.mark.parametrize("vendor", VENDORS)
async def test_an_answer_that_is_withheld_says_so(market: Market, vendor: str, streamed: bool) -> None:
    line = await market.a_line(vendor)
    answer = market.chat(line, "Something bad [[safety=1 tokens=3]]", stream=streamed)
    last = chunks(answer.text)[-1] if streamed else answer.json
    assert last["choices"][0]["finish_reason"] == "content_filter"
    assert (await market.receipt(answer)).charged == price_of(market.truth(answer))


@pytest.mark.parametrize("vendor", VENDORS)
async def test_every_chunk_has_a_choice(market: Market, vendor: str) -> None:
    """Some vendors begin with a chunk that has none, over which callers' loops would stumble."""
    answer = market.chat(await market.a_line(vendor), "Good morning [[tokens=5]]", stream=True)
    assert all(chunk["choices"] for chunk in chunks(answer.text))


@pytest.mark.parametrize("vendor", TRANSLATED)
async def test_the_model_is_called_by_our_name(market: Market, vendor: str) -> None:
    line = await market.a_line(vendor)
    assert market.chat(line, "Good morning").json["model"] == line.model
    assert {chunk["model"] for chunk in chunks(market.chat(line, "Hi", stream=True).text)} == {line.model}


# What goes wrong.


@pytest.mark.parametrize("vendor", VENDORS)
async def test_what_the_vendor_rejects_is_the_callers_to_correct_and_costs_nothing(market: Market, vendor: str) -> None:
    line = await market.a_line(vendor)
    said = f"The key {KEY} is not the problem, the prompt is."
    answer = market.chat(line, f'Hi [[status=400 status_text="{said}"]]')
    assert answer.status == 400
    assert answer.json["error"]["message"].startswith("The key … is not the problem, the prompt is. (Rejected by the")
    assert (await market.receipt(answer)).charged == 0


@pytest.mark.parametrize("vendor", VENDORS)
async def test_a_refused_key_takes_its_account_out_and_no_caller_hears_of_it(market: Market, vendor: str) -> None:
    line = await market.a_line(vendor, "openai", key="of-last-year")
    answer = market.chat(line, "Good morning [[tokens=4]]")
    assert answer.status == 200, answer.text
    receipt = await market.receipt(answer)
    assert [attempt["account"] for attempt in receipt.attempts] == line.accounts
    wait_until(lambda: "suspended" in row_of(market, line.accounts[0]))
    tested = tollkeeper(market.settings, "provider", "test", line.accounts[0])
    assert tested.returncode == 1
    assert "its key is refused" in tested.stderr


def row_of(market: Market, name: str) -> str:
    listed = tollkeeper(dict(market.settings) | {"COLUMNS": "400"}, "provider", "list").stdout
    return next(line for line in listed.splitlines() if name in line)


@pytest.mark.parametrize("how", ["error_at=4", "cut_at=4", "no_finish=1", "malformed_at=4"])
@pytest.mark.parametrize("vendor", TRANSLATED)
async def test_a_stream_that_breaks_off_is_charged_what_came_at_the_vendors_count_of_the_input(
    market: Market, vendor: str, how: str
) -> None:
    line = await market.a_line(vendor)
    answer = market.chat(line, f"Good morning [[tokens=8 cached=2 chunk_ms=20 {how}]]", stream=True)
    assert error_in(answer.text)["code"] == "stream_broken"
    truth, receipt = market.truth(answer), await market.receipt(answer)
    assert (receipt.ending, receipt.usage_source) == (Ending.UPSTREAM_BROKE, UsageSource.COUNTED)
    assert receipt.usage.input_units == truth["input_tokens"]
    assert receipt.usage.cached_units == 2
    assert 0 < receipt.usage.output_units <= truth["output_tokens"]


@pytest.mark.parametrize("vendor", TRANSLATED)
async def test_who_leaves_pays_what_came_until_then(market: Market, vendor: str) -> None:
    line = await market.a_line(vendor)
    body = order(line.model, "Good morning [[tokens=500 chunk_ms=20]]", stream=True)
    with listening(market.node, line.customer.key, body) as connection:
        head = read_until(connection, b"stone").decode("latin-1").lower()
    request_id = head.partition("x-request-id: ")[2].split()[0]
    receipt = await market.receipt(request_id)
    truth = market.simulator.wait_for(request_id)
    assert truth["ending"] == "client_closed"
    assert receipt.ending is Ending.CLIENT_LEFT
    assert receipt.usage.input_units == truth["input_tokens"]
    assert 2 <= receipt.usage.output_units <= truth["output_tokens"] < 500


# What a vendor cannot do.


@pytest.mark.parametrize("vendor", TRANSLATED)
async def test_what_a_vendor_cannot_do_is_refused_by_name_and_never_sent(market: Market, vendor: str) -> None:
    line = await market.a_line(vendor)
    answer = market.chat(line, "Good morning", logit_bias={"1": 5})
    assert answer.status == 400
    error = answer.json["error"]
    assert (error["param"], error["code"]) == ("logit_bias", "unsupported_parameter")
    assert error["message"] == (
        "The parameter 'logit_bias' cannot be honoured: this model's provider has no such setting. Nothing was charged."
    )
    receipt = await market.receipt(answer)
    assert (receipt.charged, list(receipt.attempts)) == (0, [])
    request_id = answer.headers["x-request-id"]
    assert not any(row["request_id"] == request_id for row in market.simulator.truth())


@pytest.mark.parametrize("vendor", TRANSLATED)
async def test_another_vendors_account_takes_what_the_first_cannot_do(market: Market, vendor: str) -> None:
    line = await market.a_line(vendor, "openai")
    plain, asking = market.chat(line, "Hi [[tokens=2]]"), market.chat(line, "Hi [[tokens=2]]", logit_bias={"1": 5})
    taken = [(await market.receipt(answer)).attempts[0]["account"] for answer in (plain, asking)]
    assert taken == line.accounts


async def test_an_account_that_rejects_stream_options_is_charged_by_our_count(market: Market) -> None:
    line = await market.a_line("openai", rejects=frozenset({"stream_options"}))
    answer = market.chat(line, "Good morning [[tokens=20]]", stream=True)
    receipt = await market.receipt(answer)
    assert receipt.usage_source is UsageSource.COUNTED
    assert receipt.usage.output_units == 20
    assert receipt.charged == price_of(market.truth(answer))


async def test_a_refused_parameter_uses_up_nobodys_limits(market: Market) -> None:
    line = await market.a_line("anthropic", place=PoolPlace(requests_per_minute=1))
    for _ in range(3):
        assert market.chat(line, "Hi", logit_bias={"1": 5}).status == 400
    assert market.chat(line, "Hi [[tokens=2]]").status == 200


async def test_who_could_do_it_and_is_busy_is_waited_for(market: Market) -> None:
    """A refusal by name would tell the caller to give up."""
    line = await market.a_line("openai", "anthropic", place=PoolPlace(requests_per_minute=1))
    assert market.chat(line, "Hi [[tokens=2]]").status == 200
    answer = market.chat(line, "Hi [[tokens=2]]", logit_bias={"1": 5})
    assert (answer.status, answer.json["error"]["code"]) == (503, "provider_unavailable")


# Other families than chat.


async def test_azure_speaks_and_is_paid_by_the_character(market: Market) -> None:
    line = await market.a_line("azure", kind=Kind.SPEECH)
    body = {"model": line.model, "input": "Good morning", "voice": "alloy"}
    answer = ask(market.node, "/v1/audio/speech", method="POST", key=line.customer.key, body=body)
    assert (answer.status, answer.headers["content-type"]) == (200, "audio/mpeg")
    truth = market.truth(answer)
    assert (truth["vendor"], truth["kind"], truth["characters"]) == ("azure", "speech", 12)
    assert (await market.receipt(answer)).charged == 12 * UNITS


@pytest.mark.parametrize("vendor", TRANSLATED)
async def test_a_vendor_without_the_family_is_passed_over(market: Market, vendor: str) -> None:
    line = await market.a_line(vendor, "openai", kind=Kind.SPEECH)
    body = {"model": line.model, "input": "Good morning", "voice": "alloy"}
    answer = ask(market.node, "/v1/audio/speech", method="POST", key=line.customer.key, body=body)
    assert (answer.status, market.truth(answer)["vendor"]) == (200, "openai")
