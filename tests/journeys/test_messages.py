"""Messages over real sockets: any vendor's account answers as Anthropic would, and the books are the vendor's truth."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from anthropic import Anthropic, APIStatusError, AuthenticationError, NotFoundError, PermissionDeniedError

from tests.chat import listening, read_until, request_id_in
from tests.client import Answer, ask
from tests.market import THEIRS, Line, Market, price_of
from tests.messages import PATH, VERSION, events, order, send, told
from tollkeeper.app.providers import VENDORS
from tollkeeper.core.money.charge import Ending, UsageSource
from tollkeeper_simulator.speech import text_of

STREAMED = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
EVERY_VENDOR = pytest.mark.parametrize("vendor", VENDORS)
# Whose bytes pass, and one whose are translated.
BOTH_WAYS = pytest.mark.parametrize("vendor", ["anthropic", "openai"])
TOOL = {
    "name": "get_weather",
    "description": "The weather in a city",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
Sdk = Callable[[Line], Anthropic]
THINKING = {"type": "enabled", "budget_tokens": 1_024}


@pytest.fixture
def sdk(market: Market) -> Iterator[Sdk]:
    """The official client of a line's caller."""
    with ExitStack() as clients:

        def client(line: Line) -> Anthropic:
            base = f"http://127.0.0.1:{market.node.port}"
            return clients.enter_context(Anthropic(api_key=line.customer.key, base_url=base, max_retries=0))

        yield client


@STREAMED
@pytest.mark.parametrize("directions", ["tokens=20", "tokens=20 cached=5", "tokens=7 thinking=30"])
@EVERY_VENDOR
async def test_any_vendors_model_answers_the_official_client_at_the_vendors_own_count(
    market: Market, sdk: Sdk, vendor: str, directions: str, streamed: bool
) -> None:
    line = await market.a_line(vendor)
    asked: dict[str, Any] = order(line.model, f"A good morning to you all [[{directions}]]")
    client = sdk(line)
    if streamed:
        with client.messages.stream(**asked) as stream:
            message, request_id = stream.get_final_message(), stream.response.headers["x-request-id"]
    else:
        raw = client.messages.with_raw_response.create(**asked)
        message, request_id = raw.parse(), raw.headers["x-request-id"]
        assert raw.headers["request-id"] == request_id
    truth = market.simulator.wait_for(request_id)
    assert (truth["vendor"], truth["model"], message.model) == (vendor, THEIRS[vendor], line.model)
    spoken = "".join(block.text for block in message.content if block.type == "text")
    assert spoken.endswith(text_of(truth["output_tokens"] - truth["thinking_tokens"]))
    assert message.stop_reason == "end_turn"
    usage = message.usage
    assert usage.input_tokens + (usage.cache_read_input_tokens or 0) == truth["input_tokens"]
    assert (usage.cache_read_input_tokens, usage.output_tokens) == (truth["cached_tokens"], truth["output_tokens"])
    receipt = await market.receipt(request_id)
    assert receipt.charged == price_of(truth)
    assert (receipt.ending, receipt.usage_source) == (Ending.COMPLETED, UsageSource.PROVIDER)


@STREAMED
@EVERY_VENDOR
async def test_a_tool_is_called_and_its_result_goes_back(market: Market, sdk: Sdk, vendor: str, streamed: bool) -> None:
    line = await market.a_line(vendor)
    client: Any = sdk(line)
    asked = {"role": "user", "content": "Please call the tool. [[tokens=9 thinking=5]]"}
    given: dict[str, Any] = {"model": line.model, "max_tokens": 2_000, "tools": [TOOL], "thinking": THINKING}
    if streamed:
        with client.messages.stream(messages=[asked], **given) as stream:
            first = stream.get_final_message()
    else:
        first = client.messages.create(messages=[asked], **given)
    assert first.stop_reason == "tool_use"
    [call] = [block for block in first.content if block.type == "tool_use"]
    assert (call.name, call.input) == ("get_weather", {"city": "river stone"})
    result = {"type": "tool_result", "tool_use_id": call.id, "content": [{"type": "text", "text": "It rains."}]}
    said = [block.model_dump(exclude_none=True, exclude={"parsed_output"}) for block in first.content]
    turns = [asked, {"role": "assistant", "content": said}, {"role": "user", "content": [result]}]
    raw = client.messages.with_raw_response.create(messages=turns, **given)
    second = raw.parse()
    assert "".join(block.text for block in second.content if block.type == "text").endswith(text_of(9))
    truth = market.simulator.wait_for(raw.headers["x-request-id"])
    assert (await market.receipt(raw.headers["x-request-id"])).charged == price_of(truth)


@STREAMED
async def test_thoughts_and_their_signatures_pass_as_the_provider_wrote_them(market: Market, streamed: bool) -> None:
    line = await market.a_line("anthropic")
    answer = send(
        market.node,
        line.customer.key,
        order(line.model, "Hm [[tokens=4 thinking=9]]", thinking=THINKING, stream=streamed),
    )
    if streamed:
        thought, signature = told(answer.text, "thinking"), told(answer.text, "signature")
    else:
        thought, signature = (answer.json["content"][0][name] for name in ("thinking", "signature"))
    assert thought
    turns: list[Any] = [
        {"role": "user", "content": "Hm"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": thought, "signature": signature}]},
        {"role": "user", "content": "And? [[tokens=3]]"},
    ]
    # The simulated vendor refuses thoughts that are not its own to the letter.
    again = send(market.node, line.customer.key, order(line.model, "", thinking=THINKING) | {"messages": turns})
    assert again.status == 200, again.text
    forged = turns[1]["content"][0] | {"signature": "forged"}
    turns[1] = {"role": "assistant", "content": [forged]}
    refused = send(market.node, line.customer.key, order(line.model, "", thinking=THINKING) | {"messages": turns})
    assert (refused.status, refused.error["type"]) == (400, "invalid_request_error")
    assert "Invalid `signature`" in refused.error["message"]


async def test_a_conversation_whose_thoughts_are_another_vendors_goes_on_at_anthropic(market: Market) -> None:
    line = await market.a_line("anthropic")
    content = [{"type": "thinking", "thinking": "Hm", "signature": ""}, {"type": "text", "text": "Yes."}]
    turns = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": content},
        {"role": "user", "content": "And? [[tokens=3]]"},
    ]
    answer = send(market.node, line.customer.key, order(line.model, "", thinking=THINKING) | {"messages": turns})
    assert answer.status == 200, answer.text


async def test_the_events_of_a_translated_stream_are_in_anthropics_order(market: Market) -> None:
    line = await market.a_line("openai")
    answer = send(market.node, line.customer.key, order(line.model, "Good morning [[tokens=2]]", stream=True))
    names = [event.name for event in events(answer.text)]
    deltas = ["content_block_delta"] * (len(names) - 5)
    assert names == [
        "message_start",
        "content_block_start",
        *deltas,
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert all(event.name == event.data["type"] for event in events(answer.text))


# What goes wrong.


@pytest.mark.parametrize("how", ["error_at=4", "cut_at=4", "no_finish=1", "malformed_at=4"])
@BOTH_WAYS
async def test_a_stream_that_breaks_off_ends_with_an_error_event_and_is_charged_what_came(
    market: Market, vendor: str, how: str
) -> None:
    line = await market.a_line(vendor)
    body = order(line.model, f"Good morning [[tokens=8 chunk_ms=20 {how}]]", stream=True)
    answer = send(market.node, line.customer.key, body)
    last = events(answer.text)[-1]
    assert (last.name, last.data["type"], last.data["error"]["type"]) == ("error", "error", "api_error")
    assert last.data["request_id"] == answer.headers["request-id"]
    truth, receipt = market.truth(answer), await market.receipt(answer)
    assert (receipt.ending, receipt.usage_source) == (Ending.UPSTREAM_BROKE, UsageSource.COUNTED)
    assert receipt.usage.input_units == truth["input_tokens"]
    assert 0 < receipt.usage.output_units <= truth["output_tokens"]


@BOTH_WAYS
async def test_who_leaves_pays_what_came_until_then(market: Market, vendor: str) -> None:
    line = await market.a_line(vendor)
    body = order(line.model, "Good morning [[tokens=500 chunk_ms=20]]", stream=True)
    with listening(market.node, line.customer.key, body, path=PATH) as connection:
        request_id = request_id_in(read_until(connection, b"stone"))
    receipt, truth = await market.receipt(request_id), market.simulator.wait_for(request_id)
    assert (truth["ending"], receipt.ending) == ("client_closed", Ending.CLIENT_LEFT)
    assert receipt.usage.input_units == truth["input_tokens"]
    assert 2 <= receipt.usage.output_units <= truth["output_tokens"] < 500


@BOTH_WAYS
async def test_an_account_that_fails_before_the_first_word_is_passed_over(market: Market, vendor: str) -> None:
    line = await market.a_line(vendor, "gemini", key="of-last-year")
    answer = send(market.node, line.customer.key, order(line.model, "Good morning [[tokens=4]]", stream=True))
    assert told(answer.text, "text") == text_of(4)
    receipt = await market.receipt(answer)
    assert [attempt["account"] for attempt in receipt.attempts] == line.accounts
    assert receipt.charged == price_of(market.truth(answer))


async def test_what_the_provider_rejects_is_told_in_its_words_and_in_the_clients_form(market: Market, sdk: Sdk) -> None:
    line = await market.a_line("anthropic")
    with pytest.raises(APIStatusError) as refused:
        sdk(line).messages.create(**order(line.model, 'Hi [[status=400 status_text="No such thing"]]'))  # type: ignore[call-overload]
    assert refused.value.status_code == 400
    assert "No such thing" in refused.value.message
    assert isinstance(refused.value.body, dict)
    assert refused.value.body["type"] == "error"


async def test_an_unknown_model_and_an_unknown_key_are_the_clients_own_errors(market: Market, sdk: Sdk) -> None:
    line = await market.a_line("anthropic")
    client = sdk(line)
    with pytest.raises(NotFoundError):
        client.messages.create(model="no-such-model", max_tokens=9, messages=[{"role": "user", "content": "Hi"}])
    with pytest.raises(AuthenticationError):
        client.copy(api_key="sk-1" + "x" * 48).models.list()


async def test_who_has_no_quota_is_refused_as_a_matter_of_billing(market: Market, sdk: Sdk) -> None:
    line = await market.a_line("anthropic")
    poor = Line(line.model, line.accounts, await market.customers.a_customer(usd=None))
    with pytest.raises(PermissionDeniedError) as refused:
        sdk(poor).messages.create(**order(line.model, "Hi"))  # type: ignore[call-overload]
    assert isinstance(refused.value.body, dict)
    assert refused.value.body["error"]["type"] == "billing_error"
    asked = order(line.model, "Hi")
    counted = send(market.node, poor.customer.key, asked, path="/v1/messages/count_tokens")
    assert (counted.status, counted.error["type"]) == (403, "billing_error")


# Keys.


@pytest.mark.parametrize("path", [PATH, "/v1/messages/count_tokens"])
async def test_a_key_is_taken_from_either_header_and_not_from_two_that_differ(market: Market, path: str) -> None:
    line = await market.a_line("anthropic")
    key, other = line.customer.key, (await market.customers.a_customer()).key
    body = order(line.model, "Hi [[tokens=2]]")

    def status(**headers: str) -> Answer:
        return ask(
            market.node, path, method="POST", headers={n.replace("_", "-"): v for n, v in headers.items()}, body=body
        )

    assert status(x_api_key=key).status == 200
    assert status(authorization=f"Bearer {key}").status == 200
    assert status(x_api_key=key, authorization=f"Bearer {key}").status == 200
    differing = status(x_api_key=key, authorization=f"Bearer {other}")
    assert (differing.status, differing.error["type"]) == (401, "authentication_error")
    assert "Two different API keys" in differing.error["message"]
    small = status(authorization=f"bearer {key}")
    assert (small.status, "capital B" in small.error["message"]) == (401, True)
    assert status().status == 401


async def test_chat_takes_no_key_from_the_other_header(market: Market) -> None:
    line = await market.a_line("anthropic")
    answer = ask(
        market.node,
        "/v1/chat/completions",
        method="POST",
        headers={"x-api-key": line.customer.key},
        body={"model": line.model, "messages": [{"role": "user", "content": "Hi"}]},
    )
    assert (answer.status, answer.error["code"]) == (401, "missing_api_key")


async def test_the_model_list_has_the_form_that_the_version_asks_for(market: Market, sdk: Sdk) -> None:
    line = await market.a_line("anthropic")
    listed = sdk(line).models.list()
    assert line.model in [model.id for model in listed.data]
    assert listed.has_more is False
    plain = ask(market.node, "/v1/models", headers={"x-api-key": line.customer.key})
    assert plain.json["object"] == "list"
    wrong = ask(market.node, "/v1/models", headers={"x-api-key": "sk-wrong", **VERSION})
    assert (wrong.status, wrong.json["type"]) == (401, "error")
    one = sdk(line).models.retrieve(line.model)
    assert (one.type, one.id, one.display_name) == ("model", line.model, line.model)


# Counting.


@EVERY_VENDOR
async def test_tokens_are_counted_for_nothing(market: Market, sdk: Sdk, vendor: str) -> None:
    line = await market.a_line(vendor)
    asked: dict[str, Any] = {
        "model": line.model,
        "messages": [{"role": "user", "content": "A good morning [[tokens=2]]"}],
    }
    raw = sdk(line).messages.with_raw_response.count_tokens(**asked)
    answer = send(market.node, line.customer.key, asked | {"max_tokens": 100})
    assert raw.parse().input_tokens == market.truth(answer)["input_tokens"]
    counted = [row for row in market.simulator.truth() if row["request_id"] == raw.headers["x-request-id"]]
    assert len(counted) == (1 if vendor == "anthropic" else 0)
    assert all(row["input_tokens"] == 0 for row in counted)


async def test_a_provider_that_cannot_count_is_replaced_by_our_own_count(market: Market) -> None:
    line = await market.a_line("anthropic")
    asked = order(line.model, "A good morning [[status=500]]")
    answer = send(market.node, line.customer.key, asked, path="/v1/messages/count_tokens")
    assert (answer.status, answer.json["input_tokens"] > 5) == (200, True)


# What is asked.


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ({"mcp_servers": [{"type": "url", "url": "https://example.com"}]}, "ask other servers"),
        ({"container": "box_1"}, "kept at the provider"),
        ({"speed": "fast"}, "changes what the provider charges"),
        ({"surprise": 1}, "only what is known here is passed on"),
        ({"service_tier": "priority"}, "auto or standard_only"),
        ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "web_search has no price here"),
        ({"context_management": {"edits": [{"type": "compact_20260112"}]}}, "must be a kind of block or edit"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
async def test_what_cannot_be_had_is_refused_in_words_and_never_sent(
    market: Market, field: dict[str, Any], words: str
) -> None:
    line = await market.a_line("anthropic")
    answer = send(market.node, line.customer.key, order(line.model, "Hi") | field)
    assert (answer.status, answer.error["type"]) == (400, "invalid_request_error")
    assert words in answer.error["message"]
    request_id = answer.headers["x-request-id"]
    assert not any(row["request_id"] == request_id for row in market.simulator.truth())


async def test_what_has_no_translation_goes_to_an_account_that_needs_none(market: Market) -> None:
    line = await market.a_line("openai", "anthropic")
    tools = [{"type": "bash_20250124", "name": "bash"}]
    answer = send(market.node, line.customer.key, order(line.model, "Hi [[tokens=2]]", tools=tools))
    assert market.truth(answer)["vendor"] == "anthropic"
    alone = await market.a_line("openai")
    refused = send(market.node, alone.customer.key, order(alone.model, "Hi", tools=tools))
    assert (refused.status, "no translation" in refused.error["message"]) == (400, True)


async def test_betas_that_nobody_knows_refuse_nothing(market: Market) -> None:
    line = await market.a_line("anthropic")
    betas = "claude-code-20250219,of-tomorrow-2027-01-01,,x" * 20
    answer = send(
        market.node,
        line.customer.key,
        order(line.model, "Hi [[tokens=2]]", context_management={"edits": [{"type": "clear_thinking_20251015"}]}),
        path=f"{PATH}?beta=true",
        anthropic_beta=betas,
    )
    assert answer.status == 200, answer.text


# What a stream costs that cannot be paid to its end.


@BOTH_WAYS
async def test_a_stream_ends_with_an_error_event_when_the_quota_for_more_is_not_there(
    market: Market, vendor: str
) -> None:
    line = await market.a_line(vendor)
    poor = await market.customers.a_customer(usd="0.002")  # 1,000 quota
    body = order(line.model, "Hi [[tokens=4000 chunk_ms=1 ignore_cap=1]]", stream=True, max_tokens=100)
    answer = send(market.node, poor.key, body)
    last = events(answer.text)[-1]
    assert (last.name, last.data["error"]["type"]) == ("error", "billing_error")
    receipt = await market.receipt(answer)
    assert (receipt.ending, receipt.usage_source) == (Ending.QUOTA_RAN_OUT, UsageSource.COUNTED)
    assert ask(market.node, "/v2/account/balance", key=poor.key).json["balance"]["remained_cash"] >= 0
