"""The simulator as the vendor's own client library sees it."""

import json
from typing import Any

import openai
import pytest
from openai import OpenAI
from openai.types.chat import ChatCompletionChunk

from tests.simulator.conftest import KEY
from tollkeeper_simulator.dialects.openai import MODELS
from tollkeeper_simulator.order import read_order
from tollkeeper_simulator.speech import text_of
from tollkeeper_simulator.tokens import count_input, count_text
from tools.simulator import Simulator

TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}},
        },
    }
]


def client(sim: Simulator, key: str = KEY) -> OpenAI:
    return OpenAI(base_url=sim.base, api_key=key, max_retries=0)


def said(text: str) -> list[Any]:
    return [{"role": "user", "content": text}]


def chunks_of(sim: Simulator, text: str, **fields: Any) -> list[ChatCompletionChunk]:
    with client(sim) as caller:
        return list(caller.chat.completions.create(model="demo-small", messages=said(text), stream=True, **fields))


def test_an_answer_has_the_words_that_were_asked_for_and_counts_them(sim: Simulator) -> None:
    with client(sim) as caller:
        answer = caller.chat.completions.create(model="demo-small", messages=said("hi [[tokens=20 cached=4]]"))
    assert answer.choices[0].message.content == text_of(20)
    assert (answer.object, answer.model, answer.choices[0].finish_reason) == ("chat.completion", "demo-small", "stop")
    assert answer.system_fingerprint
    usage = answer.usage
    assert usage is not None
    assert usage.completion_tokens == 20
    assert usage.total_tokens == usage.prompt_tokens + 20
    assert usage.prompt_tokens_details is not None
    assert usage.prompt_tokens_details.cached_tokens == 4
    assert usage.completion_tokens_details is not None


def test_a_stream_opens_with_a_role_and_closes_with_a_reason_and_the_usage(sim: Simulator) -> None:
    chunks = chunks_of(sim, "hi [[tokens=5]]", stream_options={"include_usage": True})
    assert len({chunk.id for chunk in chunks}) == 1
    assert chunks[0].choices[0].delta.role == "assistant"
    words = [chunk.choices[0].delta.content or "" for chunk in chunks[1:6]]
    assert all(count_text(word) == 1 for word in words)
    assert "".join(words) == text_of(5)
    assert chunks[6].choices[0].finish_reason == "stop"
    assert chunks[7].choices == []
    assert [chunk.usage is None for chunk in chunks] == [True] * 7 + [False]
    assert chunks[7].usage is not None
    assert chunks[7].usage.completion_tokens == 5


def test_a_stream_has_no_usage_unless_it_was_asked_for(sim: Simulator) -> None:
    assert all(chunk.usage is None and chunk.choices for chunk in chunks_of(sim, "hi"))


def test_several_choices_are_all_told_and_all_counted(sim: Simulator) -> None:
    chunks = chunks_of(sim, "hi [[tokens=3]]", n=2, stream_options={"include_usage": True})
    for index in (0, 1):
        mine = [choice for chunk in chunks for choice in chunk.choices if choice.index == index]
        assert "".join(choice.delta.content or "" for choice in mine) == text_of(3)
        assert mine[-1].finish_reason == "stop"
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == 6


@pytest.mark.parametrize("field", ["max_tokens", "max_completion_tokens"])
def test_a_cap_is_kept_and_told(sim: Simulator, field: str) -> None:
    chunks = chunks_of(sim, "hi [[tokens=100]]", **{field: 7})
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == text_of(7)
    assert chunks[-1].choices[0].finish_reason == "length"


def test_a_tool_is_called_with_arguments_of_its_types(sim: Simulator) -> None:
    with client(sim) as caller:
        answer = caller.chat.completions.create(model="m", messages=said("Please call the tool."), tools=TOOLS)
    assert answer.choices[0].finish_reason == "tool_calls"
    calls: Any = answer.choices[0].message.tool_calls
    assert calls[0].function.name == "get_weather"
    assert json.loads(calls[0].function.arguments) == {"city": "river stone", "days": 3}
    assert answer.usage is not None
    assert answer.usage.completion_tokens == count_text("get_weather") + count_text(calls[0].function.arguments)


def test_a_streamed_tool_call_comes_in_pieces_that_join(sim: Simulator) -> None:
    chunks = chunks_of(sim, "call the tool", tools=TOOLS)
    deltas = [call for chunk in chunks for call in chunk.choices[0].delta.tool_calls or ()]
    assert deltas[0].id
    assert deltas[0].function is not None
    assert deltas[0].function.name == "get_weather"
    assert len(deltas) > 5
    arguments = "".join(delta.function.arguments or "" for delta in deltas if delta.function)
    assert json.loads(arguments) == {"city": "river stone", "days": 3}
    assert chunks[-1].choices[0].finish_reason == "tool_calls"


def test_the_result_of_a_tool_is_answered_in_words(sim: Simulator) -> None:
    messages = said("call the tool")
    with client(sim) as caller:
        asked = caller.chat.completions.create(model="m", messages=messages, tools=TOOLS).choices[0].message
        calls: Any = asked.tool_calls
        messages += [asked, {"role": "tool", "tool_call_id": calls[0].id, "content": "sunny"}]
        answer = caller.chat.completions.create(model="m", messages=messages, tools=TOOLS)
    assert (answer.choices[0].message.content, answer.choices[0].finish_reason) == (text_of(16), "stop")


def test_thoughts_are_hidden_and_counted(sim: Simulator) -> None:
    with client(sim) as caller:
        answer: Any = caller.chat.completions.create(model="m", messages=said("[[thinking=7 tokens=3]]"), n=2)
        capped: Any = caller.chat.completions.create(model="m", messages=said("[[thinking=7]]"), max_tokens=9)
    assert [choice.message.content for choice in answer.choices] == [text_of(3)] * 2
    assert answer.usage.completion_tokens == 20
    assert answer.usage.completion_tokens_details.reasoning_tokens == 14
    assert (capped.choices[0].message.content, capped.choices[0].finish_reason) == (text_of(2), "length")


@pytest.mark.parametrize("direction", ["safety=1", "blocked=1"])
def test_an_answer_can_be_withheld(sim: Simulator, direction: str) -> None:
    chunks = chunks_of(sim, f"[[{direction} tokens=2]]")
    assert chunks[-1].choices[0].finish_reason == "content_filter"


def test_images_are_taken_and_an_echo_is_what_was_said(sim: Simulator) -> None:
    text = 'Grüße 👋🏽 aus Köln\n"quoted" \\ tab\t'
    parts: list[Any] = [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "text", "text": text + "[[echo=1]]"},
    ]
    with client(sim) as caller:
        whole = caller.chat.completions.create(model="m", messages=[{"role": "user", "content": parts}])
    assert whole.choices[0].message.content == text
    assert whole.usage is not None
    assert whole.usage.completion_tokens == count_text(text)
    streamed = chunks_of(sim, text + "[[echo=1]]")
    assert "".join(chunk.choices[0].delta.content or "" for chunk in streamed) == text


def test_models_are_listed(locked_sim: Simulator) -> None:
    with client(locked_sim) as caller:
        assert [model.id for model in caller.models.list()] == list(MODELS)


def test_a_wrong_key_is_refused_in_words_that_quote_it(locked_sim: Simulator) -> None:
    with client(locked_sim, "sk-wrong-9876543210") as caller, pytest.raises(openai.AuthenticationError) as refusal:
        caller.chat.completions.create(model="m", messages=said("hi"))
    assert refusal.value.code == "invalid_api_key"
    assert "sk-wrong" in refusal.value.message
    assert "3210" in refusal.value.message


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, openai.BadRequestError),
        (401, openai.AuthenticationError),
        (404, openai.NotFoundError),
        (429, openai.RateLimitError),
        (500, openai.InternalServerError),
        (503, openai.InternalServerError),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_a_status_is_given_as_asked(
    sim: Simulator, status: int, kind: type[openai.APIStatusError], stream: bool
) -> None:
    text = f'hi [[status={status} status_text="so it goes" error_code=some_code retry_after=7]]'
    with client(sim) as caller, pytest.raises(kind) as refusal:
        caller.chat.completions.create(model="m", messages=said(text), stream=stream)
    assert refusal.value.status_code == status
    assert "so it goes" in refusal.value.message
    assert refusal.value.code == "some_code"
    assert refusal.value.response.headers["retry-after"] == "7"


def test_an_error_in_mid_stream_reaches_the_caller_as_one(sim: Simulator) -> None:
    got: list[ChatCompletionChunk] = []
    with client(sim) as caller:
        stream = caller.chat.completions.create(model="m", messages=said("[[error_at=2]]"), stream=True)
        with pytest.raises(openai.APIError, match="had an error"):
            got.extend(stream)
    assert len(got) == 3


def test_a_direction_can_be_for_one_simulator_only(sim: Simulator, locked_sim: Simulator) -> None:
    text = "hi [[tokens=2]] [[only=locked status=503]]"
    assert len(chunks_of(sim, text)) == 4
    with pytest.raises(openai.InternalServerError):
        chunks_of(locked_sim, text)


def test_a_direction_that_does_not_exist_is_told(sim: Simulator) -> None:
    with pytest.raises(openai.BadRequestError, match="tokns"):
        chunks_of(sim, "[[tokns=2]]")


def test_the_input_is_counted_by_the_rule() -> None:
    tools = '[ {"type": "function", "function": {"name": "f"}} ]'
    body = (
        '{"model":"m","unknown":1,"messages":[{"role":"system","content":"be brief","name":"boss"},'
        '{"role":"user","content":[{"type":"text","text":"one two"},{"type":"image_url","image_url":{"url":"x"}}]}],'
        f'"tools":{tools}}}'
    )
    system = 3 + count_text("system") + count_text("be brief") + 1 + count_text("boss")
    user = 3 + count_text("user") + count_text("one two")
    assert count_input(read_order(body.encode())) == system + user + 3 + count_text(tools)


@pytest.mark.parametrize("tokens", [0, 1, 16, 41, 42, 5_000, 150_000])
def test_a_text_has_exactly_its_tokens(tokens: int) -> None:
    assert count_text(text_of(tokens)) == tokens


def test_a_text_past_the_tokenizers_size_is_counted_all_the_same() -> None:
    assert count_text(text_of(300_000)) == 300_000
    assert count_text("ab" * 600_000) > 0
