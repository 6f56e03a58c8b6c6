"""The simulator as Anthropic's own client library sees it."""

import base64
from collections.abc import AsyncIterator
from typing import Any

import anthropic
import pytest
from anthropic import AsyncAnthropic

from tests.simulator.conftest import KEY
from tollkeeper_simulator.speech import text_of, thoughts_of
from tollkeeper_simulator.tokens import count_text
from tools.simulator import Simulator

TOOLS: list[Any] = [
    {
        "name": "get_weather",
        "description": "The weather of some days.",
        "input_schema": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        },
    }
]
THINKING: Any = {"type": "enabled", "budget_tokens": 1_024}


def client(sim: Simulator, key: str = KEY) -> AsyncAnthropic:
    return AsyncAnthropic(base_url=sim.base.removesuffix("/v1"), api_key=key, max_retries=0)


@pytest.fixture
async def caller(locked_sim: Simulator) -> AsyncIterator[AsyncAnthropic]:
    async with client(locked_sim) as opened:
        yield opened


def said(text: str, **fields: Any) -> dict[str, Any]:
    return {"model": "claude-demo", "max_tokens": 2_048, "messages": [{"role": "user", "content": text}]} | fields


async def test_an_answer_has_the_words_that_were_asked_for_and_counts_them(caller: AsyncAnthropic) -> None:
    answer = await caller.messages.create(**said("hi [[tokens=20]]", system="be brief"))
    assert [block.type for block in answer.content] == ["text"]
    assert answer.content[0].text == text_of(20)
    assert (answer.type, answer.role, answer.model) == ("message", "assistant", "claude-demo")
    assert (answer.stop_reason, answer.stop_sequence) == ("end_turn", None)
    assert answer.id.startswith("msg_")
    assert answer._request_id
    assert answer.usage.output_tokens == 20
    counted = sum(3 + count_text(text) for text in ("system", "user")) + 3
    assert answer.usage.input_tokens == counted + count_text("be brief") + count_text("hi [[tokens=20]]")


async def test_a_stream_is_the_same_answer_in_events(caller: AsyncAnthropic) -> None:
    async with caller.messages.stream(**said("hi [[tokens=5]]")) as stream:
        kinds = [event.type async for event in stream]
        answer = await stream.get_final_message()
    assert kinds[0] == "message_start"
    assert kinds[-2:] == ["message_delta", "message_stop"]
    assert kinds.count("content_block_delta") == 5
    assert answer.content[0].type == "text"
    assert answer.content[0].text == text_of(5)
    assert answer.usage.output_tokens == 5


async def test_a_stream_begins_with_the_input_and_ends_with_the_output(caller: AsyncAnthropic) -> None:
    events = [event async for event in await caller.messages.create(**said("[[tokens=9 cached=4]]"), stream=True)]
    assert events[0].type == "message_start"
    assert events[0].message.content == []
    assert events[0].message.stop_reason is None
    assert events[0].message.usage.cache_read_input_tokens == 4
    assert events[0].message.usage.output_tokens == 1
    assert events[-2].type == "message_delta"
    assert (events[-2].usage.output_tokens, events[-2].delta.stop_reason) == (9, "end_turn")


@pytest.mark.parametrize("thinks", [False, True], ids=["plain", "thinking"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_a_tool_is_called_and_its_result_answered(caller: AsyncAnthropic, stream: bool, thinks: bool) -> None:
    fields = {"tools": TOOLS} | ({"thinking": THINKING} if thinks else {})
    order = said("Please call the tool.", **fields)
    if stream:
        async with caller.messages.stream(**order) as events:
            asked = await events.get_final_message()
    else:
        asked = await caller.messages.create(**order)
    assert asked.stop_reason == "tool_use"
    assert [block.type for block in asked.content] == ["thinking"] * thinks + ["tool_use"]
    use: Any = asked.content[-1]
    assert (use.name, use.input) == ("get_weather", {"city": "river stone", "days": 3})
    result: Any = {"type": "tool_result", "tool_use_id": use.id, "content": [{"type": "text", "text": "sunny"}]}
    order["messages"] += [asked.to_param(), {"role": "user", "content": [result]}]
    answer = await caller.messages.create(**order)
    assert answer.stop_reason == "end_turn"
    words: Any = answer.content[-1]
    assert words.text == text_of(16)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_thoughts_are_shown_signed_and_counted(caller: AsyncAnthropic, stream: bool) -> None:
    order = said("[[tokens=4 thinking=6 per_chunk=2]]", thinking=THINKING)
    if stream:
        async with caller.messages.stream(**order) as events:
            answer = await events.get_final_message()
    else:
        answer = await caller.messages.create(**order)
    thought: Any = answer.content[0]
    words: Any = answer.content[1]
    assert (thought.type, thought.thinking, words.text) == ("thinking", thoughts_of(6), text_of(4))
    assert thought.signature
    assert answer.usage.output_tokens == 10
    assert answer.usage.output_tokens_details is not None
    assert answer.usage.output_tokens_details.thinking_tokens == 6


async def test_thoughts_can_be_omitted_and_are_signed_and_counted_all_the_same(caller: AsyncAnthropic) -> None:
    thinking = {"type": "adaptive", "display": "omitted"}
    async with caller.messages.stream(**said("[[tokens=4 thinking=6]]", thinking=thinking)) as events:
        answer = await events.get_final_message()
    thought: Any = answer.content[0]
    assert (thought.type, thought.thinking, bool(thought.signature)) == ("thinking", "", True)
    assert answer.usage.output_tokens == 10


async def test_who_wants_thoughts_gets_some_undirected(caller: AsyncAnthropic) -> None:
    answer = await caller.messages.create(**said("hi", thinking={"type": "adaptive"}))
    assert [block.type for block in answer.content] == ["thinking", "text"]
    answer = await caller.messages.create(**said("hi [[thinking=0]]", thinking={"type": "adaptive"}))
    assert [block.type for block in answer.content] == ["text"]


async def test_the_cap_is_for_thoughts_and_words(caller: AsyncAnthropic) -> None:
    answer = await caller.messages.create(**said("[[thinking=6 tokens=9]]", max_tokens=10))
    assert answer.stop_reason == "max_tokens"
    assert answer.usage.output_tokens == 10
    assert [block.type for block in answer.content] == ["thinking", "text"]
    answer = await caller.messages.create(**said("[[thinking=6 tokens=9]]", max_tokens=5))
    assert [block.type for block in answer.content] == ["thinking"]


async def test_input_from_and_for_the_cache_is_told_beside_the_rest(caller: AsyncAnthropic) -> None:
    plain = await caller.messages.create(**said("[[cached=0 cache_write=0]]"))
    answer = await caller.messages.create(**said("[[cached=5 cache_write=3]]"))
    usage = answer.usage
    assert (usage.cache_read_input_tokens, usage.cache_creation_input_tokens) == (5, 3)
    assert usage.input_tokens == plain.usage.input_tokens - 8
    assert usage.cache_creation is not None
    assert usage.cache_creation.ephemeral_5m_input_tokens == 3
    # More than there was of it: the rest is nothing, never less.
    answer = await caller.messages.create(**said("[[cached=500 cache_write=300]]"))
    assert (answer.usage.input_tokens, answer.usage.cache_read_input_tokens) == (0, 500)


@pytest.mark.parametrize("direction", ["safety=1", "blocked=1"])
async def test_an_answer_can_be_withheld(caller: AsyncAnthropic, direction: str) -> None:
    answer = await caller.messages.create(**said(f"[[{direction} tokens=2]]"))
    assert answer.stop_reason == "refusal"
    assert answer.stop_details is not None
    assert answer.stop_details.type == "refusal"


async def test_images_are_taken(caller: AsyncAnthropic) -> None:
    picture = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(b"a picture").decode()}
    blocks = [
        {"type": "image", "source": picture},
        {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
        {"type": "text", "text": "Grüße [[echo=1]]", "cache_control": {"type": "ephemeral"}},
    ]
    order = said("") | {"messages": [{"role": "user", "content": blocks}]}
    answer = await caller.messages.create(**order)
    words: Any = answer.content[0]
    assert words.text == "Grüße "


@pytest.mark.parametrize(
    ("status", "kind", "type_"),
    [
        (400, anthropic.BadRequestError, "invalid_request_error"),
        (401, anthropic.AuthenticationError, "authentication_error"),
        (403, anthropic.PermissionDeniedError, "permission_error"),
        (404, anthropic.NotFoundError, "not_found_error"),
        (429, anthropic.RateLimitError, "rate_limit_error"),
        (500, anthropic.InternalServerError, "api_error"),
        (529, anthropic.InternalServerError, "overloaded_error"),
    ],
)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_a_status_is_given_as_asked(
    caller: AsyncAnthropic, status: int, kind: type[anthropic.APIStatusError], type_: str, stream: bool
) -> None:
    order = said(f'[[status={status} status_text="so it goes" retry_after=7]]')
    with pytest.raises(kind) as refusal:
        await caller.messages.create(**order, stream=stream)
    assert refusal.value.status_code == status
    body: Any = refusal.value.body
    assert (body["type"], body["error"]) == ("error", {"type": type_, "message": "so it goes"})
    assert body["request_id"] == refusal.value.request_id
    assert refusal.value.response.headers["retry-after"] == "7"


async def test_an_error_in_mid_stream_reaches_the_caller_as_one(caller: AsyncAnthropic) -> None:
    stream = await caller.messages.create(**said("[[error_at=2]]"), stream=True)
    got = [await anext(stream) for _ in range(4)]
    assert [event.type for event in got[-2:]] == ["content_block_delta"] * 2
    with pytest.raises(anthropic.APIStatusError, match="Overloaded"):
        await anext(stream)


async def test_a_wrong_key_is_refused(locked_sim: Simulator) -> None:
    async with client(locked_sim, "sk-ant-wrong") as stranger:
        with pytest.raises(anthropic.AuthenticationError, match="invalid x-api-key"):
            await stranger.messages.create(**said("hi"))
        with pytest.raises(anthropic.AuthenticationError):
            await stranger.models.list()


async def test_models_are_listed(caller: AsyncAnthropic) -> None:
    assert [model.id async for model in caller.models.list()] == ["demo-small", "demo-large"]
